import { useState } from 'preact/hooks'

export type Bar = {
  /** Text below the bar. */
  label: string
  /** One value per series, stacked from bottom to top. */
  values: readonly number[]
  /** Address of the page that lists what the bar counts. */
  href: string
}
export type ChartProps = {
  caption: string
  series: readonly string[]
  bars: readonly Bar[]
  /** Formats a value. */
  format: (value: number) => string
  /** Whether the values are whole numbers. */
  isCount: boolean
}

/** Number of gridlines above zero, at most. */
const linesMax = 4
/** Number of labels below the bars, at most. */
const labelsMax = 8
const seriesColours = 8

/** The class that colours a series. */
export function seriesClass(index: number): string {
  return `series-${index % seriesColours}`
}

/** Bars above a scale of values. Each links to what it counts, and shows its values while hovered or focused. */
export function Chart({ caption, series, bars, format, isCount }: ChartProps) {
  const [pointed, setPointed] = useState<number>()
  const [focused, setFocused] = useState(bars.length - 1)
  const { top, lines } = scaleOf(Math.max(...bars.map(sumOf), 0), isCount)
  const every = Math.ceil(bars.length / labelsMax)
  return (
    <div class="chart">
      <div class="scale" aria-hidden="true">
        {lines.map((value) => (
          <span key={value}>{format(value)}</span>
        ))}
      </div>
      <div class="area">
        <div class="lines" aria-hidden="true">
          {lines.map((value) => (
            <span key={value} />
          ))}
        </div>
        <ol
          class="stacks"
          aria-label={`${caption} over time; each bar links to its requests`}
          onKeyDown={moveFocus}
          onPointerLeave={() => setPointed(undefined)}
        >
          {bars.map((bar, index) => (
            <li key={bar.label}>
              <a
                href={bar.href}
                // The arrow keys move between the bars.
                tabIndex={index === Math.min(focused, bars.length - 1) ? 0 : -1}
                aria-label={textOf(bar, { series, format })}
                onPointerEnter={() => setPointed(index)}
                onFocus={() => {
                  setFocused(index)
                  setPointed(index)
                }}
                onBlur={() => setPointed(undefined)}
              >
                {bar.values.map((value, at) => (
                  <span
                    key={at}
                    class={seriesClass(at)}
                    style={{ height: `${(value / top) * 100}%` }}
                  />
                ))}
              </a>
            </li>
          ))}
        </ol>
        {pointed !== undefined && bars[pointed] !== undefined && (
          <Tip bar={bars[pointed]} at={(pointed + 0.5) / bars.length} {...{ series, format }} />
        )}
      </div>
      <div class="labels" aria-hidden="true">
        {bars.map(({ label }, index) => (
          <span key={label}>{(bars.length - 1 - index) % every === 0 && <span>{label}</span>}</span>
        ))}
      </div>
    </div>
  )
}

type TipProps = Pick<ChartProps, 'series' | 'format'> & { bar: Bar; at: number }

/** The values of one bar. `at` is its place, from 0 at the left to 1 at the right. */
function Tip({ bar, at, series, format }: TipProps) {
  const isLeft = at < 0.5
  const offset = `${(isLeft ? at : 1 - at) * 100}%`
  return (
    <div
      class="tip"
      aria-hidden="true"
      style={{ left: isLeft ? offset : 'auto', right: isLeft ? 'auto' : offset }}
    >
      <p>
        <strong>{bar.label}</strong>
        <strong>{format(sumOf(bar))}</strong>
      </p>
      {series.length > 1 &&
        series.map((name, index) =>
          bar.values[index] ? (
            <p key={name}>
              <span class="name">
                <span class={`swatch ${seriesClass(index)}`} />
                {name}
              </span>
              <span>{format(bar.values[index])}</span>
            </p>
          ) : null,
        )}
    </div>
  )
}

function textOf(bar: Bar, { series, format }: Pick<ChartProps, 'series' | 'format'>): string {
  const parts = series.flatMap((name, index) =>
    series.length > 1 && bar.values[index] ? [`${name} ${format(bar.values[index])}`] : [],
  )
  return [`${bar.label}: ${format(sumOf(bar))}`, ...parts].join(', ')
}

function moveFocus(event: KeyboardEvent): void {
  const links = [...(event.currentTarget as Element).querySelectorAll('a')]
  const at = links.indexOf(event.target as HTMLAnchorElement)
  const places: Record<string, number> = {
    ArrowLeft: at - 1,
    ArrowRight: at + 1,
    Home: 0,
    End: links.length - 1,
  }
  const next = links[places[event.key] ?? -1]
  if (next === undefined) return
  event.preventDefault()
  next.focus()
}

/** The values of the gridlines, highest first, at round numbers; the first is the height of the chart. */
function scaleOf(most: number, isCount: boolean): { top: number; lines: number[] } {
  if (most <= 0) return { top: 1, lines: [0] }
  const power = 10 ** Math.floor(Math.log10(most / linesMax))
  const round = [1, 2, 5, 10].find((one) => one * power * linesMax >= most * (1 - 1e-9)) ?? 10
  const step = isCount ? Math.max(1, round * power) : round * power
  const count = Math.ceil(most / step - 1e-9)
  return {
    top: count * step,
    lines: Array.from({ length: count + 1 }, (_, index) => (count - index) * step),
  }
}

function sumOf({ values }: Bar): number {
  return values.reduce((sum, value) => sum + value, 0)
}
