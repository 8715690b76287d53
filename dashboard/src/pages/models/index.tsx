import { bodyOf, GET } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { nameInPlace } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { ModelList } from './list.tsx'
import { OneModel } from './one.tsx'
import './models.css'

/** How often the catalog is loaded again, for the health of its routes. */
const pollMs = 60_000

/** The catalog: all models, or one model in full. */
export function Page() {
  const loaded = useLoad(
    'catalog',
    (signal) => bodyOf(GET('/api/models', { params: { query: accountQuery() }, signal })),
    { everyMs: pollMs },
  )
  const id = nameInPlace()
  return (
    <>
      {loaded.data === undefined && (
        <div class="head">
          <h1>Models</h1>
        </div>
      )}
      <WhenLoaded loaded={loaded} what="Loading the catalog">
        {(catalog) =>
          id === undefined ? (
            <ModelList catalog={catalog} />
          ) : (
            <OneModel key={id} id={id} catalog={catalog} />
          )
        }
      </WhenLoaded>
    </>
  )
}
