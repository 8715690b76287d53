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
        <Which error={error} />
      </p>
    </div>
  )
}

/** Leads to the row of a call; of what else has failed at the gateway, tells what its log names it. */
function Which({ error: { status, requestId, isCall } }: { error: Refusal }) {
  if (requestId === undefined || !signedIn.value) return null
  if (isCall) return <a href={addressOf('/requests', { id: requestId })}>Request {requestId}</a>
  return status < 500 ? null : <small>Request {requestId}</small>
}
