import type { Body, Operation } from '../http/operation.ts'
import type { SessionCookie } from '../http/session-cookie.ts'
import { strangerOf, welcome, type LetIn, type Stranger } from './stranger.ts'

type Options = {
  signUp: (person: Body<'signUp'>, from: Stranger) => Promise<LetIn>
  cookie: SessionCookie
}

/** POST /api/people */
export function signUp({ signUp: enter, cookie }: Options): Operation<'signUp'> {
  return async (call) => welcome(cookie, await enter(call.body, strangerOf(call)))
}
