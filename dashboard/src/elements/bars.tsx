import { useState } from 'preact/hooks'
import { Chart, type ChartProps } from './chart.tsx'
import { numbers, Table } from './table.tsx'

/** Stacked bars over time, of all series or of the one chosen in the legend; a button shows the same numbers as a table. */
export function Bars(props: ChartProps) {
  const { caption, series, bars } = props
  const [isTable, setTable] = useState(false)
  const [only, setOnly] = useState<string>()
  const at = series.length === 1 ? 0 : series.findIndex(({ name }) => name === only)
  const shown =
    at === -1
      ? bars
      : bars.map((bar) => ({
          ...bar,
          href: bar.partHrefs[at] ?? bar.href,
          values: bar.values.map((one, by) => (by === at ? one : 0)),
        }))
  return (
    <figure class="bars">
      <figcaption class="head">
        <h2>{caption}</h2>
        <button type="button" class="plain small" onClick={() => setTable(!isTable)}>
          {isTable ? 'Show the plot' : 'Show the numbers'}
        </button>
      </figcaption>
      {series.length > 1 && !isTable && (
        <div class="legend" role="group" aria-label="Series; select one to plot it alone">
          {series.map(({ name, colour }, index) => (
            <button
              key={name}
              type="button"
              title={name}
              aria-pressed={at === index}
              onClick={() => setOnly(at === index ? undefined : name)}
            >
              <span class={`swatch ${colour}`} />
              <span class="name">{name}</span>
            </button>
          ))}
        </div>
      )}
      {isTable ? <Numbers {...props} /> : <Chart {...props} bars={shown} />}
    </figure>
  )
}

function Numbers({ caption, series, bars, format }: ChartProps) {
  return (
    <Table label={caption} columns={['When', ...series.map(({ name }) => numbers(name))]}>
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
