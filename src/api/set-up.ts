import type { Body, Operation } from '../http/operation.ts'
import type { SessionCookie } from '../http/session-cookie.ts'
import { strangerOf, welcome, type LetIn, type Stranger } from './stranger.ts'

type Options = {
  setUp: (person: Body<'setUp'>, from: Stranger) => Promise<LetIn>
  cookie: SessionCookie
}

/** POST /api/setup */
export function setUp({ setUp: enter, cookie }: Options): Operation<'setUp'> {
  return async (call) => welcome(cookie, await enter(call.body, strangerOf(call)))
}
