import type { IncomingMessage } from 'node:http'
import { originOf } from '../core/networks.ts'
import type { Answer } from '../http/answer.ts'
import type { ClientAddress } from '../http/client-address.ts'
import type { SessionCookie } from '../http/session-cookie.ts'
import type { components } from '../../generated/types.ts'

/** Somebody who is not signed in; `origin` is what attempts are counted by. */
export type Stranger = { address: string | null; origin: string; userAgent: string | null }

/** A person who has been let in, with the token for their cookie. */
export type LetIn = {
  token: string
  ageSeconds: number
  signedIn: components['schemas']['SignedIn']
}

type Call = { request: IncomingMessage; addressOf: ClientAddress }

/** Who sends a request, as far as that shows. */
export function strangerOf({ request, addressOf }: Call): Stranger {
  const address = addressOf(request)
  const userAgent = request.headers['user-agent'] ?? null
  return { address, origin: originOf(address), userAgent }
}

/** The answer to a person who has been let in. */
export function welcome(cookie: SessionCookie, { token, ageSeconds, signedIn }: LetIn): Answer {
  const headers = { 'set-cookie': cookie.set(token, ageSeconds) }
  return { status: 201, headers, json: signedIn }
}
