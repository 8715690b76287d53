import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Failure } from '../elements/failure.tsx'
import { Waiting } from '../elements/waiting.tsx'
import { toRefusal } from '../data/load.ts'
import { accountQuery, isFor, signedIn } from '../data/session.ts'
import { loadPart } from '../data/version.ts'
import { partTitle } from '../data/title.ts'
import { addressOf, go, place } from '../data/place.ts'
import type { Refusal } from '../data/api.ts'
import { pages, type Page } from '../pages/index.ts'

/** The page that the address names: the longest path that it begins with. */
export function pageAt(path: string): Page | undefined {
  if (path === '/') return pages[0]
  const fits = pages.filter((page) => path === page.path || path.startsWith(`${page.path}/`))
  return fits.toSorted((one, other) => other.path.length - one.path.length)[0]
}

type Ready = { page: Page; Page: ComponentType }

/** Shows that page, which asks for what it shows while the session is still looked up; an address of none says so. */
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
  // A browser does not ask again for a script that it could not load.
  if (error !== undefined) return <Failure error={error} again={() => location.reload()} />
  if (ready?.page !== page) return <Waiting />
  // Another account is another page.
  return <ready.Page key={accountQuery().account_id ?? 'the first'} />
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
            <h2>This page is for those who run the gateway</h2>
            <p>They are the administrators and owners of its first account. Ask one of them.</p>
          </>
        ) : (
          <>
            <h2>This page is for administrators</h2>
            <p>
              Ask an owner of the account to make you one. Your own name, password and sessions are{' '}
              <a href={addressOf('/you')}>on your page</a>.
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
        <h1>There is no such page</h1>
      </div>
      <div class="card empty">
        <p>The address may have a letter too many, or what it led to is gone.</p>
        <button type="button" onClick={() => go(addressOf('/'))}>
          Go to the first page
        </button>
      </div>
    </>
  )
}
