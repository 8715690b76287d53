import { useEffect } from 'preact/hooks'
import { addressOf, go, nameInPlace, place } from '../../data/place.ts'
import { Causes } from './causes.tsx'
import { RequestList } from './list.tsx'
import { OneRequest } from './one.tsx'
import './requests.css'

/** Path segment of the page for errors by cause; no request has this id. */
const errors = 'errors'

/** Requests of the account: the list, the errors by cause, or one request. */
export function Page() {
  const { query } = place.value
  const id = nameInPlace()
  const asked = query.get('id')
  useEffect(() => {
    // Error messages link to `?id=`, which redirects to the page of the request.
    if (asked === null) return
    go(addressOf(`/requests/${encodeURIComponent(asked)}`), { replace: true })
  }, [asked])
  const isAboutErrors = id === errors
  // The other view keeps the range, and the filters for the way back.
  const kept = Object.fromEntries(query)
  if (id !== undefined && !isAboutErrors) return <OneRequest key={id} id={id} />
  return (
    <>
      <div class="head">
        <h1>Requests</h1>
      </div>
      <nav class="tabs" aria-label="Views of the requests">
        <a href={addressOf('/requests', kept)} aria-current={isAboutErrors ? undefined : 'true'}>
          All requests
        </a>
        <a
          href={addressOf(`/requests/${errors}`, kept)}
          aria-current={isAboutErrors ? 'true' : undefined}
        >
          Errors by cause
        </a>
      </nav>
      {isAboutErrors ? <Causes /> : <RequestList />}
    </>
  )
}
