import { useState } from 'preact/hooks'
import { numbers, Table } from './table.tsx'

export type Bar = {
  /** Text below the bar. */
  label: string
  /** One value per series, stacked from bottom to top. */
  values: readonly number[]
}
type Props = {
  caption: string
  series: readonly string[]
  bars: readonly Bar[]
  /** Formats a value. */
  format: (value: number) => string
}

const height = 160
const width = 800
const gap = 0.25

/** Stacked bars over time; a button shows the same numbers as a table. */
export function Bars({ caption, series, bars, format }: Props) {
  const [isTable, setTable] = useState(false)
  const most = Math.max(...bars.map(sumOf), Number.MIN_VALUE)
  return (
    <figure class="bars">
      <figcaption class="head">
        <h2>{caption}</h2>
        <button type="button" class="plain small" onClick={() => setTable(!isTable)}>
          {isTable ? 'Show the plot' : 'Show the numbers'}
        </button>
      </figcaption>
      {series.length > 1 && (
        <ul class="legend">
          {series.map((name, index) => (
            <li key={name}>
              <svg viewBox="0 0 10 10" aria-hidden="true">
                <rect class={`series-${index % seriesColours}`} width="10" height="10" rx="2" />
              </svg>
              {name}
            </li>
          ))}
        </ul>
      )}
      {isTable ? (
        <Numbers {...{ caption, series, bars, format }} />
      ) : (
        <Plot
          {...{ bars, most, format }}
          label={`${caption}, as bars. The button above shows the numbers.`}
        />
      )}
    </figure>
  )
}

const seriesColours = 8

function Plot({
  bars,
  most,
  format,
  label,
}: Pick<Props, 'bars' | 'format'> & { most: number; label: string }) {
  const step = width / Math.max(bars.length, 1)
  return (
    <>
      <svg
        class="plot"
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        {bars.map((bar, index) => {
          let top = height
          return (
            <g key={bar.label}>
              <title>{`${bar.label}: ${format(sumOf(bar))}`}</title>
              {bar.values.map((value, at) => {
                const size = (value / most) * (height - 4)
                top -= size
                return (
                  <rect
                    key={at}
                    class={`series-${at % seriesColours}`}
                    x={(index + gap / 2) * step}
                    y={top}
                    width={step * (1 - gap)}
                    height={size}
                  />
                )
              })}
            </g>
          )
        })}
      </svg>
      <p class="axis">
        <span>{bars[0]?.label}</span>
        <span>highest {format(most === Number.MIN_VALUE ? 0 : most)}</span>
        <span>{bars.at(-1)?.label}</span>
      </p>
    </>
  )
}

function Numbers({ caption, series, bars, format }: Props) {
  return (
    <Table label={caption} columns={['When', ...series.map(numbers)]}>
      {bars.map((bar) => (
        <tr key={bar.label}>
          <th scope="row">{bar.label}</th>
          {bar.values.map((value, at) => (
            <td class="number" key={at}>
              {format(value)}
            </td>
          ))}
        </tr>
      ))}
    </Table>
  )
}

function sumOf({ values }: Bar): number {
  return values.reduce((sum, value) => sum + value, 0)
}
