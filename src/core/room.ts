import type { Refusal } from '../bytes/books.ts'
import { GatewayError } from './error.ts'

const retryAfterSeconds = 1

/** The error of a request for which no more bytes can be held (docs/behaviour.md#memory). */
export function noRoom(refusal: Refusal): GatewayError {
  switch (refusal) {
    case 'account':
      return new GatewayError(
        'rate_limit_exceeded',
        'The requests of this account hold its share of the memory. Try again when some are answered.',
        { retryAfterSeconds },
      )
    case 'process':
      return new GatewayError(
        'overloaded',
        'The gateway holds as much as it can for now. Try again in a moment.',
        { retryAfterSeconds },
      )
    case 'never':
      return new GatewayError(
        'request_too_large',
        'The request takes more memory than one may have here. Send less at once.',
      )
  }
}
