import { bodyOf, GET } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { shortCount } from '../../data/money.ts'
import { accountQuery } from '../../data/session.ts'
import { Money } from '../../elements/money.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'

const shownDays = 30
const dayMs = 86_400_000

/** State of the response cache, and what it has saved the account. */
export function CacheState() {
  const loaded = useLoad('cache', async (signal) => {
    const from = new Date(Date.now() - shownDays * dayMs).toISOString()
    const to = new Date(Date.now() + dayMs).toISOString()
    const query = { ...accountQuery(), from, to, mode: 'live' as const, group_by: [], limit: 1 }
    const [settings, usage] = await Promise.all([
      bodyOf(GET('/api/cache', { params: { query: accountQuery() }, signal })),
      bodyOf(GET('/api/usage', { params: { query }, signal })),
    ])
    return { ...settings, ...usage.total }
  })
  return (
    <section class="card">
      <h2>Response cache</h2>
      <WhenLoaded loaded={loaded}>
        {(cache) => (
          <>
            {cache.ttl_seconds === 0 ? (
              <p>The cache is off. Every call goes to a provider.</p>
            ) : (
              <p>
                The cache is on. It answers a repeated call within {durationText(cache.ttl_seconds)}
                , which costs nothing.
              </p>
            )}
            <dl class="facts">
              <dt>Answered by the cache</dt>
              <dd>
                {shortCount(cache.cached_calls)} calls in {shownDays} days
              </dd>
              <dt>Saved</dt>
              <dd>
                <Money usd={cache.saved.usd} />
              </dd>
            </dl>
            <p class="hint">
              A call with the header <code>cache-control: no-cache</code> goes to a provider. An
              operator sets the time with <code>cache_ttl_seconds</code>.
            </p>
          </>
        )}
      </WhenLoaded>
    </section>
  )
}

const units = [
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

function durationText(seconds: number): string {
  const [unit, size] = units.find(([, one]) => seconds % one === 0) ?? units[2]
  return new Intl.NumberFormat('en', { style: 'unit', unit, unitDisplay: 'long' }).format(
    seconds / size,
  )
}
