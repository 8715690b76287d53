import type { Schemas } from '../../data/api.ts'
import { addressOf } from '../../data/place.ts'
import { numbers, Table } from '../../elements/table.tsx'
import { metrics } from './metrics.ts'
import { nameOfGroup } from './split.ts'

type Group = Schemas['UsageGroup']
type Props = { title: string; report: Schemas['UsageReport']; by: 'model' | 'key' }

/** Sums of each group, highest cost first; the name links to the group's requests. */
export function Groups({ title, report, by }: Props) {
  return (
    <section class="card groups">
      <h2>{title}</h2>
      <Table label={title} columns={['Name', ...metrics.map((one) => numbers(one.title))]}>
        {report.data.map((group) => (
          <tr key={group[by]}>
            <th scope="row">
              <a class="group-name" href={requestsOf(group, by, report)}>
                {nameOfGroup(group, by)}
              </a>
            </th>
            {metrics.map(({ name, valueOf, format }) => (
              <td key={name} class="number">
                {format(valueOf(group.sums))}
              </td>
            ))}
          </tr>
        ))}
      </Table>
      {report.has_more && (
        <p class="hint">The table shows the {report.data.length} with the highest cost.</p>
      )}
    </section>
  )
}

function requestsOf(group: Group, by: Props['by'], { mode, from }: Schemas['UsageReport']): string {
  const filter = by === 'model' ? { model: group.model } : { key_id: group.key }
  return addressOf('/requests', { ...filter, mode, from })
}
