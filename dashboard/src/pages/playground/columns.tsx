import { useEffect, useState } from 'preact/hooks'
import { addressOf } from '../../data/place.ts'
import { exactUsd } from '../../data/money.ts'
import { Failure } from '../../elements/failure.tsx'
import { mayRepeat, usualMsOf, type Attempt, type Made } from './attempts.ts'
import { Picture } from './gallery.tsx'
import { countOf } from './image-request.ts'

type Props = {
  attempts: readonly Attempt[]
  again: (index: number) => void
  onEdit: (picture: Blob) => void
}

/** The result of each model, side by side. */
export function Columns({ attempts, again, onEdit }: Props) {
  return (
    <div class="side-by-side">
      {attempts.map(
        (attempt, index) =>
          attempt.state !== 'gone' && (
            <section class="card" key={`${attempt.model} ${index}`} aria-label={attempt.model}>
              <h2>{attempt.model}</h2>
              {attempt.state === 'running' && <Running attempt={attempt} />}
              {attempt.state === 'cancelled' && attempt.jobId !== undefined && (
                <p class="quiet" role="status">
                  Cancelled. The provider may charge what it had begun.
                </p>
              )}
              {attempt.state === 'cancelled' && attempt.jobId === undefined && (
                <>
                  <p class="quiet" role="status">
                    Cancelled. The provider finishes the call and charges it. You can still show the
                    result.
                  </p>
                  <button type="button" class="plain small" onClick={() => again(index)}>
                    Show the result
                  </button>
                </>
              )}
              {attempt.state === 'failed' && (
                <Failure
                  error={attempt.error}
                  again={mayRepeat(attempt) ? () => again(index) : undefined}
                />
              )}
              {attempt.state === 'made' && <Outcome made={attempt.made} onEdit={onEdit} />}
            </section>
          ),
      )}
    </div>
  )
}

/** A place for each picture, with the picture as far as it has arrived. */
function Running({ attempt }: { attempt: Attempt & { state: 'running' } }) {
  const { previews, request, model } = attempt
  const elapsedMs = useElapsedMs(attempt.startedAtMs)
  const usualMs = usualMsOf(model)
  const count = Math.max(request === undefined ? 1 : countOf(request), previews.length)
  return (
    <>
      <div class="made">
        {Array.from({ length: count }, (_, index) => {
          const preview = previews[index]
          const name = `picture ${index + 1}`
          if (preview === undefined) return <div key={index} class="drawn coming" />
          return (
            <img
              key={index}
              class={preview.isFinished ? 'drawn' : 'drawn unfinished'}
              src={preview.url}
              alt={preview.isFinished ? name : `Preview of ${name}, which is not finished`}
            />
          )
        })}
      </div>
      <div class="row running">
        <p class="waiting" role="status">
          <span class="spinner" aria-hidden="true" />
          Creating…
        </p>
        <p class="quiet">
          {secondsText(elapsedMs)}
          {usualMs !== undefined && `, the last call took ${secondsText(usualMs)}`}
        </p>
        <button type="button" class="plain small" onClick={attempt.cancel}>
          Cancel
        </button>
      </div>
    </>
  )
}

/** Milliseconds since a time, updated four times a second. */
export function useElapsedMs(sinceMs: number): number {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 250)
    return () => clearInterval(timer)
  }, [])
  return Math.max(0, now - sinceMs)
}

export const secondsText = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

function Outcome({ made, onEdit }: { made: Made; onEdit: (picture: Blob) => void }) {
  return (
    <>
      <div class="made">
        {made.pictures.map((picture) => (
          <Picture key={picture.id} picture={picture} onEdit={onEdit} />
        ))}
      </div>
      {made.pictures.length === 0 && <p>The model created no picture.</p>}
      {made.text !== undefined && <p>{made.text}</p>}
      <Receipt {...made} />
    </>
  )
}

type ReceiptProps = Pick<Made, 'durationMs' | 'costUsd' | 'cache' | 'requestId'> & {
  more?: string | undefined
}

/** Duration, cost and a link to the row of the request. */
export function Receipt({ durationMs, costUsd, cache, requestId, more }: ReceiptProps) {
  return (
    <p class="receipt" role="status">
      <span>{secondsText(durationMs)}</span>
      <span>{costUsd === null ? 'cost unknown' : exactUsd(costUsd)}</span>
      {more !== undefined && <span>{more}</span>}
      {cache === 'hit' && <span>from the cache</span>}
      {requestId !== undefined && (
        <a href={addressOf(`/requests/${requestId}`)}>About this request</a>
      )}
    </p>
  )
}
