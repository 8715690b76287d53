import type { Operation } from '../http/operation.ts'
import type { SessionCookie } from '../http/session-cookie.ts'
import { strangerOf, welcome, type LetIn, type Stranger } from './stranger.ts'

type Options = {
  resetPassword: (change: { token: string; next: string }, from: Stranger) => Promise<LetIn>
  cookie: SessionCookie
}

/** POST /api/password-links/use */
export function resetPassword({
  resetPassword: reset,
  cookie,
}: Options): Operation<'resetPassword'> {
  return async (call) => {
    const { token, new_password: next } = call.body
    return welcome(cookie, await reset({ token, next }, strangerOf(call)))
  }
}
