import type { Body, Operation } from '../http/operation.ts'
import type { SessionCookie } from '../http/session-cookie.ts'
import { strangerOf, welcome, type LetIn, type Stranger } from './stranger.ts'

type Options = {
  signIn: (credentials: Body<'createSession'>, from: Stranger) => Promise<LetIn>
  cookie: SessionCookie
}

/** POST /api/sessions */
export function createSession({ signIn, cookie }: Options): Operation<'createSession'> {
  return async (call) => welcome(cookie, await signIn(call.body, strangerOf(call)))
}
