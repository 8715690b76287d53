import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Failure } from '../elements/failure.tsx'
import { Waiting } from '../elements/waiting.tsx'
import { toRefusal } from '../data/load.ts'
import { accountQuery, isFor, signedIn } from '../data/session.ts'
import { loadPart } from '../data/version.ts'
import { partTitle } from '../data/title.ts'
import { addressOf, go, nameInPlace, place } from '../data/place.ts'
import type { Refusal } from '../data/api.ts'
import { pages, type Page } from '../pages/index.ts'

/** The page with the longest path that the given path starts with. */
export function pageAt(path: string): Page | undefined {
  if (path === '/') return pages[0]
  const fits = pages.filter((page) => path === page.path || path.startsWith(`${page.path}/`))
  return fits.toSorted((one, other) => other.path.length - one.path.length)[0]
}

type Ready = { page: Page; Page: ComponentType }

/** Shows the page of the current address. The page may load its data while the session is still loading. */
export function Shown() {
  const page = pageAt(place.value.path)
  const [ready, setReady] = useState<Ready>()
  const [error, setError] = useState<Refusal>()
  useEffect(() => {
    if (page === undefined) return
    setError(undefined)
    loadPart(page.load).then(
      ({ Page }) => setReady({ page, Page }),
      (thrown: unknown) => setError(toRefusal(thrown)),
    )
  }, [page])
  const title = [partTitle.value, page?.title, 'Model-Access Gateway'].filter(Boolean).join(' · ')
  useEffect(() => void (document.title = title), [title])
  const isKnown = signedIn.value !== undefined
  if (page === undefined) return isKnown ? <Nowhere /> : <Waiting />
  if (isKnown && !isFor(page.for)) return <NotForYou page={page} />
  // Browsers do not retry the import of a module that failed, so the document is loaded again.
  if (error !== undefined) return <Failure error={error} again={() => location.reload()} />
  if (ready?.page !== page) return <Waiting />
  // The key mounts the page anew when the account changes.
  return (
    <>
      <ApiLink page={page} />
      <ready.Page key={accountQuery().account_id ?? 'the first'} />
    </>
  )
}

/** A link to the operation with which programs do what the page does. */
function ApiLink({ page: { path, operations } }: { page: Page }) {
  const { path: at, query } = place.value
  const names = operations ?? {}
  const tab = query.get('tab')
  // The address may say `__proto__`.
  const part = tab !== null && Object.hasOwn(names, tab) ? tab : at.slice(path.length + 1)
  const named = Object.hasOwn(names, part) ? names[part] : undefined
  const operation = named ?? names['*'] ?? names['']
  if (operation === undefined) return null
  const id = named === undefined && operation === names['*'] ? nameInPlace() : undefined
  return (
    <a class="api-link" href={addressOf(`/reference/${operation}`, { id })}>
      API: {operation}
    </a>
  )
}

function NotForYou({ page }: { page: Page }) {
  return (
    <>
      <div class="head">
        <h1>{page.title}</h1>
      </div>
      <div class="card empty">
        {page.for === 'operators' ? (
          <>
            <h2>This page is for operators of the gateway</h2>
            <p>Operators are the administrators and owners of the gateway's first account.</p>
          </>
        ) : (
          <>
            <h2>This page is for administrators</h2>
            <p>
              Ask an owner of the account to make you one. Change your own name, password and
              sessions <a href={addressOf('/you')}>on your page</a>.
            </p>
          </>
        )}
      </div>
    </>
  )
}

function Nowhere() {
  return (
    <>
      <div class="head">
        <h1>Page not found</h1>
      </div>
      <div class="card empty">
        <p>Check the address. The page may also have been removed.</p>
        <button type="button" onClick={() => go(addressOf('/'))}>
          Go to the overview
        </button>
      </div>
    </>
  )
}
