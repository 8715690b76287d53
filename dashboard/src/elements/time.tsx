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
  /** Whether to show the full date beside the relative time, since telephones show no titles. */
  isWhole?: boolean
}

/** A relative time such as `5 minutes ago`; its title is the full date in the reader's time zone. */
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

/** Tolerated clock difference between gateway and browser: a time this close in the future is "just now". */
const skewSecondsMax = 10

/** Describes the distance of a time from now; `atMs` and `nowMs` are Unix milliseconds. */
export function ago(atMs: number, nowMs: number): string {
  const seconds = Math.round((atMs - nowMs) / 1000)
  const step = steps.find(([, size]) => Math.abs(seconds) >= size)
  if (step === undefined) return seconds > skewSecondsMax ? 'in a moment' : 'just now'
  return relative.format(Math.trunc(seconds / step[1]), step[0])
}
