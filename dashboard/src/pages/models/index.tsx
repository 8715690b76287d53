import { bodyOf, GET } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { place } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { Waiting } from '../../elements/waiting.tsx'
import { ModelList } from './list.tsx'
import { OneModel } from './one.tsx'
import './models.css'

/** How often the health of routes is asked for again. */
const pollMs = 60_000

/** The catalog: all models, or one of them in full. */
export function Page() {
  const catalog = useLoad(
    'catalog',
    (signal) => bodyOf(GET('/api/models', { params: { query: accountQuery() }, signal })),
    { everyMs: pollMs },
  )
  const id = decoded(place.value.path.split('/').slice(2).join('/'))
  return (
    <>
      {catalog.data === undefined && <h1>Models</h1>}
      <Failure error={catalog.error} again={catalog.again} />
      {catalog.data === undefined ? (
        catalog.isLoading && <Waiting what="Loading the catalog" />
      ) : id === '' ? (
        <ModelList catalog={catalog.data} />
      ) : (
        <OneModel key={id} id={id} catalog={catalog.data} />
      )}
    </>
  )
}

/** A part of an address as it was meant; one that is not well-formed is left as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
