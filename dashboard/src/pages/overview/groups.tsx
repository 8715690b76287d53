import type { Schemas } from '../../data/api.ts'
import { colourOf } from '../../data/colours.ts'
import { decimalsOf, shortUsd } from '../../data/money.ts'
import { addressOf } from '../../data/place.ts'
import { Money } from '../../elements/money.tsx'
import { numbers, Table } from '../../elements/table.tsx'
import { metrics, type Metric } from './metrics.ts'
import { filterOf, nameOfGroup, type Dimension } from './split.ts'

/** Where a metric is on a telephone, which has no room for all. */
const telephonePlaces: Record<string, string> = { spent: 'beside', requests: '', errors: 'at-end' }

type Group = Schemas['UsageGroup']
type Props = { title: string; report: Schemas['UsageReport']; by: Dimension }

/** Sums of each group, highest cost first; the name links to the group's requests. */
export function Groups({ title, report, by }: Props) {
  const columns = metrics.map((metric) => ({ metric, places: placesIn(metric, report.data) }))
  return (
    <section class="card groups">
      <h2>{title}</h2>
      <Table
        label={title}
        class="stacked"
        columns={['Name', ...metrics.map((one) => numbers(one.title))]}
        opens
      >
        {report.data.map((group) => (
          <tr key={group[by]}>
            <th scope="row" class="first">
              <span class={`swatch ${colourOf(by, group[by] ?? '')}`} />
              <Name group={group} report={report} by={by} />
            </th>
            {columns.map(({ metric: { name, title: head, usdOf, valueOf, format }, places }) => (
              <td key={name} class={`number ${telephonePlaces[name] ?? 'minor'}`} data-head={head}>
                {usdOf === undefined ? (
                  format(valueOf(group.sums))
                ) : (
                  <Money usd={usdOf(group.sums)} places={places} isShort />
                )}
              </td>
            ))}
          </tr>
        ))}
      </Table>
      {by === 'tag' && <p class="hint">A request with several tags counts in each of them.</p>}
      {report.has_more && (
        <p class="hint">The table shows the {report.data.length} with the highest cost.</p>
      )}
    </section>
  )
}

/** Number of decimals by which a column of rounded amounts is aligned. */
function placesIn({ usdOf }: Metric, groups: readonly Group[]): number {
  if (usdOf === undefined) return 0
  return Math.max(...groups.map(({ sums }) => decimalsOf(shortUsd(usdOf(sums)))))
}

type NameProps = Omit<Props, 'title'> & { group: Group }

function Name({ group, by, report: { mode, from, to } }: NameProps) {
  const name = nameOfGroup(group, by)
  const filter = filterOf(group, by)
  if (filter === undefined) return <span class="group-name quiet">{name}</span>
  return (
    <a class="group-name" href={addressOf('/requests', { ...filter, mode, from, to })}>
      {name}
    </a>
  )
}
