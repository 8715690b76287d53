import { useState } from 'preact/hooks'
import type { Refusal } from '../data/api.ts'
import { addressOf } from '../data/place.ts'
import { signedIn } from '../data/session.ts'

type Props = { error: Refusal | undefined; again?: (() => void) | undefined }

/** An error message, announced by screen readers, with a link to the failed request if it was a model call. */
export function Failure({ error, again }: Props) {
  // A second click would cancel the request that the first one repeated. Its failure is another error.
  const [repeated, setRepeated] = useState<Refusal>()
  if (error === undefined) return null
  const isBusy = repeated === error
  const repeat = () => {
    setRepeated(error)
    again?.()
  }
  return (
    <div class="failure" role="alert">
      <p>{error.message}</p>
      <p class="failure-more">
        {again !== undefined && (
          <button type="button" class="plain" disabled={isBusy} onClick={repeat}>
            {isBusy ? 'One moment…' : 'Try again'}
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
