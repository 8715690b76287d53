import { bodyOf, GET } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { nameInPlace } from '../../data/place.ts'
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
  const id = nameInPlace()
  return (
    <>
      {catalog.data === undefined && <h1>Models</h1>}
      <Failure error={catalog.error} again={catalog.again} />
      {catalog.data === undefined ? (
        catalog.isLoading && <Waiting what="Loading the catalog" />
      ) : id === undefined ? (
        <ModelList catalog={catalog.data} />
      ) : (
        <OneModel key={id} id={id} catalog={catalog.data} />
      )}
    </>
  )
}
