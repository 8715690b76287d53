import { shortDuration } from '../../data/duration.ts'
import type { Schemas } from '../../data/api.ts'

type Call = Schemas['RequestRecord']

/** Attempts of a call on a time axis, with the reason for each further attempt. */
export function Timeline({ call }: { call: Call }) {
  const { attempts } = call
  if (attempts.length === 0) {
    return (
      <section class="card">
        <h2>Attempts</h2>
        <p class="quiet">
          {call.cache === 'hit'
            ? 'The cache had the answer, so the gateway called no provider.'
            : 'The gateway called no provider.'}
        </p>
      </section>
    )
  }
  const starts = startsOf(attempts)
  const ends = attempts.map(({ duration_ms: ms }, index) => starts[index]! + ms)
  const wholeMs = Math.max(call.duration_ms, ...ends, 1)
  return (
    <section class="card">
      <h2>Attempts</h2>
      <ol class="timeline">
        {attempts.map((attempt, index) => (
          <Attempt key={index} {...{ attempt, wholeMs }} startMs={starts[index]!} />
        ))}
      </ol>
      <p class="hint">From start to end of the request: {shortDuration(wholeMs)}.</p>
    </section>
  )
}

/** What the provider said about its failure. */
export function Said({ attempt: { provider, message } }: Pick<AttemptProps, 'attempt'>) {
  if (message === null) return null
  return (
    <p>
      {provider} said: “{message}”
    </p>
  )
}

/** Start of each attempt; an attempt without a recorded start follows the previous one. */
function startsOf(attempts: Call['attempts']): number[] {
  let endMs = 0
  return attempts.map(({ start_ms: start, duration_ms: ms }) => {
    const startMs = start ?? endMs
    endMs = startMs + ms
    return startMs
  })
}

type AttemptProps = { attempt: Call['attempts'][number]; startMs: number; wholeMs: number }

function Attempt({ attempt, startMs, wholeMs }: AttemptProps) {
  const { provider, upstream_model: model, outcome, status, duration_ms: ms } = attempt
  const isOk = outcome === 'ok'
  const x = (startMs / wholeMs) * 100
  const width = Math.min(Math.max((ms / wholeMs) * 100, 0.8), 100 - Math.min(x, 99.2))
  return (
    <li>
      <span>
        <strong>{provider}</strong> <span class="quiet">{model}</span>
      </span>
      <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect class="timeline-ground" width="100" height="4" />
        <rect
          class={isOk ? 'timeline-ok' : 'timeline-failed'}
          x={Math.min(x, 99.2)}
          width={width}
          height="4"
        />
      </svg>
      <span class="took">
        {isOk ? 'answered' : outcome.replaceAll('_', ' ')}
        {status !== null && ` (HTTP ${status})`}, {shortDuration(ms)}
        <span class="hidden"> from {shortDuration(startMs)} on</span>
      </span>
      <Said attempt={attempt} />
      {attempt.explanation !== null && <p class="hint">{attempt.explanation}</p>}
    </li>
  )
}
