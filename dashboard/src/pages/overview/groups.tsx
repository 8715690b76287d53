import type { Schemas } from '../../data/api.ts'
import { shortCount } from '../../data/money.ts'
import { Money } from '../../elements/money.tsx'

type Group = Schemas['UsageGroup']
type Props = {
  title: string
  report: Schemas['UsageReport']
  nameOf: (group: Group) => string | undefined
}

/** The sums of each group, the dearest first. */
export function Groups({ title, report, nameOf }: Props) {
  const groups = report.data.toSorted(
    (one, other) => Number(other.sums.cost.usd) - Number(one.sums.cost.usd),
  )
  return (
    <section class="card">
      <h2>{title}</h2>
      {groups.length === 0 ? (
        <p class="quiet">Nothing yet.</p>
      ) : (
        <div class="table" tabIndex={0} role="region" aria-label={title}>
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col" class="number">
                  Calls
                </th>
                <th scope="col" class="number">
                  Spent
                </th>
              </tr>
            </thead>
            <tbody>
              {groups.map((group) => (
                <tr key={nameOf(group)}>
                  <td>{nameOf(group)}</td>
                  <td class="number">{shortCount(group.sums.calls)}</td>
                  <td class="number">
                    <Money usd={group.sums.cost.usd} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {report.has_more && <p class="hint">Only the first {report.data.length} are shown.</p>}
    </section>
  )
}
