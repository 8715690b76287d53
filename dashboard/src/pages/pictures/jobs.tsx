import { useState } from 'preact/hooks'
import type { Choice } from '../../elements/filters.tsx'
import type { Mode } from '../../data/calling.ts'
import { listJobs } from '../../data/image-jobs.ts'
import { useLoad } from '../../data/load.ts'
import { addressOf } from '../../data/place.ts'
import { Icon } from '../../elements/icon.tsx'
import { Said, useSaid } from '../../elements/said.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { statusTexts, Tile } from './tile.tsx'

const pageJobs = 24
const pollMs = 5000

export const statuses: readonly Choice[] = Object.entries(statusTexts)

type Props = { mode: Mode; status: string }

/** The jobs with a status, a page at a time, newest first. */
export function Jobs({ mode, status }: Props) {
  // The last job of each page before this page.
  const [before, setBefore] = useState<readonly string[]>([])
  const [said, say] = useSaid()
  const after = before.at(-1)
  const loaded = useLoad(
    `jobs ${after}`,
    (signal) => {
      const query = { limit: String(pageJobs), ...(status && { status }), ...(after && { after }) }
      return listJobs(query, { mode, signal })
    },
    { everyMs: pollMs },
  )
  const turn = (pages: readonly string[]) => {
    setBefore(pages)
    scrollTo(0, 0)
  }
  return (
    <>
      <Said said={said} />
      <WhenLoaded loaded={loaded} what="Loading the pictures">
        {({ data, has_more: hasMore, last_id: lastId, unavailable }) => (
          <>
            {unavailable && (
              <p class="card" role="status">
                {unavailable}
              </p>
            )}
            {data.length === 0 && (
              <None isFirst={after === undefined} mode={mode} status={status} />
            )}
            <ul class="jobs" aria-label="Jobs">
              {data.map((job) => (
                <Tile
                  key={job.id}
                  job={job}
                  mode={mode}
                  onChanged={(text) => {
                    say(text)
                    loaded.again()
                  }}
                />
              ))}
            </ul>
            {(hasMore || after !== undefined) && (
              <Turns
                onNewer={after === undefined ? undefined : () => turn(before.slice(0, -1))}
                onOlder={hasMore && lastId ? () => turn([...before, lastId]) : undefined}
              />
            )}
          </>
        )}
      </WhenLoaded>
    </>
  )
}

type TurnsProps = { onNewer: (() => void) | undefined; onOlder: (() => void) | undefined }

function Turns({ onNewer, onOlder }: TurnsProps) {
  return (
    <nav class="row" aria-label="Pages of the list">
      <button type="button" class="plain" disabled={!onNewer} onClick={onNewer}>
        Newer
      </button>
      <button type="button" class="plain" disabled={!onOlder} onClick={onOlder}>
        Older
      </button>
    </nav>
  )
}

function None({ isFirst, mode, status }: Props & { isFirst: boolean }) {
  if (!isFirst || status !== '') {
    return (
      <div class="card empty">
        <h2>{isFirst ? 'No job has this status' : 'No older jobs'}</h2>
      </div>
    )
  }
  const query = { tab: 'pictures', mode: mode === 'test' ? mode : undefined }
  return (
    <div class="card empty">
      <Icon name="picture" />
      <h2>No pictures yet</h2>
      <p>
        Pictures of jobs appear here until they expire: those that you{' '}
        <a href={addressOf('/playground', query)}>create in the playground</a>, and those of calls
        with the header <code>Prefer: respond-async</code>.
      </p>
    </div>
  )
}
