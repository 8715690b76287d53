import type { Schemas } from '../../data/api.ts'
import { exactUsd } from '../../data/money.ts'
import { Money } from '../../elements/money.tsx'
import { numbers, Table } from '../../elements/table.tsx'

type Cost = Schemas['RequestCost']

const whyNothing: Partial<Record<Schemas['CostStatus'], string>> = {
  cached: 'The cache answered, so the call cost nothing.',
  unknown: 'The catalog has no price for this model.',
}
const costSources: Partial<Record<Schemas['CostStatus'], string>> = {
  exact: 'The provider reported the units; the prices come from the catalog.',
  reported: 'The provider reported the cost.',
  estimated: 'The provider reported no units, so they are estimated.',
}

/** How the cost of a call was calculated. */
export function CostOfCall({ cost }: { cost: Cost }) {
  const { lines, status } = cost
  return (
    <section class="card">
      <h2>
        Cost: <Money usd={cost.amount?.usd} places={0} />
      </h2>
      {lines === null ? (
        <p class="quiet">
          An older version of the gateway recorded this call without the calculation.
        </p>
      ) : lines.length === 0 ? (
        <p class="quiet">{whyNothing[status] ?? 'This call cost nothing.'}</p>
      ) : (
        <>
          <Lines cost={cost} lines={lines} />
          <p class="hint">
            {costSources[status]}
            {cost.multiplier !== null && cost.multiplier !== '1' && (
              <> The service tier and the time of day multiply list prices by {cost.multiplier}.</>
            )}
            {cost.upstream !== null && (
              <>
                {' '}
                The upstream vendor bills {exactUsd(cost.upstream.usd)} of it to your own key there.
              </>
            )}
          </p>
        </>
      )}
      {cost.saved !== null && (
        <p>
          The first call for this answer cost <Money usd={cost.saved.usd} places={0} />, which the
          cache saved.
        </p>
      )}
      {!cost.is_charged && (
        <p class="hint">Test keys are not charged. A live key would cost this amount.</p>
      )}
    </section>
  )
}

function Lines({ cost, lines }: { cost: Cost; lines: NonNullable<Cost['lines']> }) {
  return (
    <Table
      label="Calculation of the cost"
      columns={['What', numbers('Units'), numbers('Unit price'), numbers('Amount')]}
      foot={<Sums cost={cost} />}
    >
      {lines.map((line) => (
        <tr key={line.what}>
          <td>{line.what.replaceAll('_', ' ')}</td>
          <td class="number">{line.units.toLocaleString('en-US')}</td>
          <td class="number">× ${line.unit_price}</td>
          <td class="number">= ${line.amount}</td>
        </tr>
      ))}
    </Table>
  )
}

function Sums({ cost: { exact_usd: exact, amount } }: { cost: Cost }) {
  return (
    <>
      {exact !== null && (
        <tr>
          <th scope="row" colSpan={3}>
            Sum
          </th>
          <td class="number">${exact}</td>
        </tr>
      )}
      {amount !== null && (
        <tr>
          <th scope="row" colSpan={3}>
            Rounded to a billionth of a dollar
          </th>
          <td class="number">
            <strong>{exactUsd(amount.usd)}</strong>
          </td>
        </tr>
      )}
    </>
  )
}
