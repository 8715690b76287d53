import type { Schemas } from '../../data/api.ts'
import { exactUsd } from '../../data/money.ts'
import { Money } from '../../elements/money.tsx'
import { numbers, Table } from '../../elements/table.tsx'

type Cost = Schemas['RequestCost']

const whyNothing: Partial<Record<Schemas['CostStatus'], string>> = {
  cached: 'The cache answered: nothing was paid.',
  unknown: 'No price is known for it.',
}
const whence: Partial<Record<Schemas['CostStatus'], string>> = {
  exact: 'The provider counted the units; the prices are those of the catalog.',
  reported: 'The provider itself told what it charges.',
  estimated: 'The provider counted nothing: the units are an estimate.',
}

/** The arithmetic of what a call cost. */
export function CostOfCall({ cost }: { cost: Cost }) {
  const { lines, status } = cost
  return (
    <section class="card">
      <h2>
        Cost: <Money usd={cost.amount?.usd} places={0} />
      </h2>
      {lines === null ? (
        <p class="quiet">An older version of the gateway did not keep how it was made.</p>
      ) : lines.length === 0 ? (
        <p class="quiet">{whyNothing[status] ?? 'Nothing was paid for.'}</p>
      ) : (
        <>
          <Lines cost={cost} lines={lines} />
          <p class="hint">
            {whence[status]}
            {cost.multiplier !== null && cost.multiplier !== '1' && (
              <> The tier and the hour multiply list prices by {cost.multiplier}.</>
            )}
            {cost.upstream !== null && (
              <> Another provider bills {exactUsd(cost.upstream.usd)} of it to a key of your own.</>
            )}
          </p>
        </>
      )}
      {cost.saved !== null && (
        <p>
          The answer cost <Money usd={cost.saved.usd} places={0} /> when it was made: that was
          saved.
        </p>
      )}
      {!cost.is_charged && (
        <p class="hint">Test keys are not charged: this is what it would cost.</p>
      )}
    </section>
  )
}

function Lines({ cost, lines }: { cost: Cost; lines: NonNullable<Cost['lines']> }) {
  return (
    <Table
      label="The arithmetic of the cost"
      columns={['What', numbers('Units'), numbers('Price of one'), numbers('Amount')]}
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
            Rounded once, to a billionth of a dollar
          </th>
          <td class="number">
            <strong>{exactUsd(amount.usd)}</strong>
          </td>
        </tr>
      )}
    </>
  )
}
