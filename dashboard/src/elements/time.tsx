const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'long' })
const steps: readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]

type Props = {
  at: string | null
  never?: string
  /** Whether the whole of it is told beside, where there is room: a telephone shows no titles. */
  isWhole?: boolean
}

/** A moment as in `5 minutes ago`; its title tells it in the reader's own zone, and which that is. */
export function Time({ at, never = 'never', isWhole = false }: Props) {
  if (at === null) return <span class="quiet">{never}</span>
  const date = new Date(at)
  return (
    <time dateTime={at} title={whole.format(date)}>
      {ago(date.getTime(), Date.now())}
      {isWhole && `, ${whole.format(date)}`}
    </time>
  )
}

/** So far the gateway's clock may be ahead of the reader's: what was done is not to come. */
const skewSecondsMax = 10

/** How far a time is from now, both in Unix milliseconds. */
export function ago(atMs: number, nowMs: number): string {
  const seconds = Math.round((atMs - nowMs) / 1000)
  const step = steps.find(([, size]) => Math.abs(seconds) >= size)
  if (step === undefined) return seconds > skewSecondsMax ? 'in a moment' : 'just now'
  return relative.format(Math.trunc(seconds / step[1]), step[0])
}
