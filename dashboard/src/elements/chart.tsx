import { useState } from 'preact/hooks'

export type Bar = {
  /** Text below the bar. */
  label: string
  /** One value per series, stacked from bottom to top. */
  values: readonly number[]
  /** Address of the page that lists what the bar counts. */
  href: string
  /** The same for each series; a series without an address has the address of the bar. */
  partHrefs: readonly string[]
}
/** A name, and the class of its colour. */
export type Series = { name: string; colour: string }
export type ChartProps = {
  caption: string
  series: readonly Series[]
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

/** Place of the pointer or the focus: a bar, or the part of a series in it. */
type Pointed = { bar: number; part?: number | undefined }

/** Bars above a scale of values. Bars and parts link to what they count, and show it while hovered or focused. */
export function Chart({ caption, series, bars, format, isCount }: ChartProps) {
  const [pointed, setPointed] = useState<Pointed>()
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
          aria-label={`${caption} over time; each bar and each part of it links to its requests`}
          onKeyDown={moveFocus}
          onPointerLeave={() => setPointed(undefined)}
          onFocusOut={() => setPointed(undefined)}
        >
          {bars.map((bar, index) => (
            <Stack
              key={bar.label}
              {...{ bar, series, format, top }}
              isStop={index === Math.min(focused, bars.length - 1)}
              onPoint={(part) => setPointed({ bar: index, part })}
              onFocus={() => setFocused(index)}
            />
          ))}
        </ol>
        {pointed !== undefined && bars[pointed.bar] !== undefined && (
          <Tip
            bar={bars[pointed.bar]!}
            part={pointed.part}
            at={(pointed.bar + 0.5) / bars.length}
            {...{ series, format }}
          />
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

type Values = Pick<ChartProps, 'series' | 'format'>
type StackProps = Values & {
  bar: Bar
  /** The value at the top of the chart. */
  top: number
  /** Whether the Tab key stops at the bar; the arrow keys move from there. */
  isStop: boolean
  onPoint: (part?: number) => void
  onFocus: () => void
}

/** A bar: a link over its whole column, below a link for each of its parts. */
function Stack({ bar, series, format, top, isStop, onPoint, onFocus }: StackProps) {
  const isPlain = series.length === 1
  return (
    <li onFocusIn={onFocus}>
      <a
        class="whole-bar"
        href={bar.href}
        tabIndex={isStop ? 0 : -1}
        aria-label={textOf(bar, { series, format })}
        onPointerEnter={() => onPoint()}
        onFocus={() => onPoint()}
      />
      {bar.values.map((value, part) => {
        const look = {
          class: `part ${series[part]!.colour}`,
          style: { height: `${(value / top) * 100}%` },
        }
        if (value === 0) return null
        if (isPlain) return <span key={part} {...look} />
        return (
          <a
            key={part}
            {...look}
            href={bar.partHrefs[part] ?? bar.href}
            tabIndex={-1}
            aria-label={`${series[part]!.name}, ${bar.label}: ${format(value)}`}
            onPointerEnter={() => onPoint(part)}
            onFocus={() => onPoint(part)}
          />
        )
      })}
    </li>
  )
}

type TipProps = Values & { bar: Bar; part: number | undefined; at: number }

/** The values of one bar, `part` among them. `at` is its place, from 0 at the left to 1 at the right. */
function Tip({ bar, part, at, series, format }: TipProps) {
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
        series.map(({ name, colour }, index) =>
          bar.values[index] ? (
            <p key={name} class={index === part ? 'pointed' : undefined}>
              <span class="name">
                <span class={`swatch ${colour}`} />
                {name}
              </span>
              <span>{format(bar.values[index])}</span>
            </p>
          ) : null,
        )}
    </div>
  )
}

function textOf(bar: Bar, { series, format }: Values): string {
  const parts = series.flatMap(({ name }, index) =>
    series.length > 1 && bar.values[index] ? [`${name} ${format(bar.values[index])}`] : [],
  )
  return [`${bar.label}: ${format(sumOf(bar))}`, ...parts].join(', ')
}

/** Moves the focus between bars by the left and right arrow keys, and within a bar by the others. */
function moveFocus(event: KeyboardEvent): void {
  const target = event.target as HTMLAnchorElement
  const bars = [...(event.currentTarget as Element).children]
  const at = bars.findIndex((bar) => bar.contains(target))
  const links = [...bars[at]!.querySelectorAll('a')]
  const by = links.indexOf(target)
  const first = (bar: Element | undefined) => bar?.querySelector('a')
  const next = {
    ArrowLeft: first(bars[at - 1]),
    ArrowRight: first(bars[at + 1]),
    Home: first(bars[0]),
    End: first(bars.at(-1)),
    ArrowUp: links[by + 1],
    ArrowDown: links[by - 1],
  }[event.key]
  if (!next) return
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
