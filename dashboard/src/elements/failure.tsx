import type { Refusal } from '../data/api.ts'
import { addressOf } from '../data/place.ts'
import { signedIn } from '../data/session.ts'

type Props = { error: Refusal | undefined; again?: (() => void) | undefined }

/** What went wrong and what helps, told at once; leads to the row of the request where there is one. */
export function Failure({ error, again }: Props) {
  if (error === undefined) return null
  return (
    <div class="failure" role="alert">
      <p>{error.message}</p>
      <p class="failure-more">
        {again !== undefined && (
          <button type="button" class="plain" onClick={again}>
            Try again
          </button>
        )}
        {error.requestId !== undefined && signedIn.value && (
          <a href={addressOf('/requests', { id: error.requestId })}>Request {error.requestId}</a>
        )}
      </p>
    </div>
  )
}
