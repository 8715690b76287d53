import { useEffect } from 'preact/hooks'
import { addressOf, go, nameInPlace, place } from '../../data/place.ts'
import { Causes } from './causes.tsx'
import { RequestList } from './list.tsx'
import { OneRequest } from './one.tsx'
import './requests.css'

/** What no request has as its id: the errors of all, by cause, as GET /api/requests/errors tells them. */
const errors = 'errors'

/** The calls of the account: as they come in, why some of them failed, or one of them in full. */
export function Page() {
  const { query } = place.value
  const id = nameInPlace()
  const asked = query.get('id')
  useEffect(() => {
    // What errors lead to, wherever the row is.
    if (asked === null) return
    go(addressOf(`/requests/${encodeURIComponent(asked)}`), { replace: true })
  }, [asked])
  const isAboutErrors = id === errors
  if (id !== undefined && !isAboutErrors) return <OneRequest key={id} id={id} />
  return (
    <>
      <div class="head">
        <h1>Requests</h1>
      </div>
      <nav class="views row" aria-label="Views of the requests">
        <a href={addressOf('/requests')} aria-current={isAboutErrors ? undefined : 'true'}>
          All requests
        </a>
        <a
          href={addressOf(`/requests/${errors}`)}
          aria-current={isAboutErrors ? 'true' : undefined}
        >
          Errors by cause
        </a>
      </nav>
      {isAboutErrors ? <Causes /> : <RequestList />}
    </>
  )
}
