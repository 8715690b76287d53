import type { Refusal } from '../data/api.ts'
import { addressOf } from '../data/place.ts'
import { signedIn } from '../data/session.ts'

type Props = { error: Refusal | undefined; again?: (() => void) | undefined }

/** An error message, announced by screen readers, with a link to the failed request if it was a model call. */
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
        <RequestId error={error} />
      </p>
    </div>
  )
}

/** Links a model call to its row; for another request that failed with 5xx, shows the id for the log. */
function RequestId({ error: { status, requestId, isCall } }: { error: Refusal }) {
  if (requestId === undefined || !signedIn.value) return null
  if (isCall) return <a href={addressOf('/requests', { id: requestId })}>Request {requestId}</a>
  return status < 500 ? null : <small>Request {requestId}</small>
}
