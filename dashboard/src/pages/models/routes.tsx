import { addressOf } from '../../data/place.ts'
import { isOperator } from '../../data/session.ts'
import type { Schemas } from '../../data/api.ts'
import { Circuit, Health, Latency, MeasuredOver } from '../../elements/health.tsx'
import { numbers, Table } from '../../elements/table.tsx'
import type { Entry } from './entries.ts'

const columns = [
  'Provider',
  'Model there',
  'State',
  'Last hour',
  numbers('Attempts'),
  numbers('Median / slow'),
]

type Props = { entry: Entry; measured: Schemas['Measured'] | null }

/** The ways to a model in the order in which they are tried, and how each does. */
export function Routes({ entry: { routes }, measured }: Props) {
  return (
    <section class="card">
      <h2>Routes</h2>
      <p class="quiet">
        {routes.length > 1
          ? 'They are tried in this order; one that keeps failing is left alone for a while.'
          : 'Where calls go.'}
      </p>
      <Table label="Routes" class="routes" columns={columns}>
        {routes.map((route) => (
          <tr key={`${route.provider} ${route.upstream_model}`}>
            <td>{route.provider_name}</td>
            <td>
              <code>{route.upstream_model}</code>
            </td>
            <td>
              {route.is_configured ? (
                <Circuit circuit={route.circuit} until={route.circuit_until} />
              ) : isOperator.value ? (
                <a href={addressOf('/providers')}>not configured</a>
              ) : (
                <span class="state">not configured</span>
              )}
            </td>
            <td>
              <Health health={route.health} />
            </td>
            <td class="number">{route.health.attempts.toLocaleString('en-US')}</td>
            <td class="number">
              <Latency health={route.health} />
            </td>
          </tr>
        ))}
      </Table>
      <MeasuredOver measured={measured} />
    </section>
  )
}
