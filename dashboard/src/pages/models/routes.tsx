import { addressOf } from '../../data/place.ts'
import { isOperator } from '../../data/session.ts'
import type { Schemas } from '../../data/api.ts'
import { Circuit, Health, Latency, MeasuredOver } from '../../elements/health.tsx'
import { numbers, Table } from '../../elements/table.tsx'
import type { Entry } from './entries.ts'

const columns = [
  'Provider',
  'Upstream model',
  'State',
  'Last hour',
  numbers('Attempts'),
  numbers('Median / 95%'),
]

type Props = { entry: Entry; measured: Schemas['Measured'] | null }

/** Routes to a model in the order in which they are tried, with their health. */
export function Routes({ entry: { routes }, measured }: Props) {
  return (
    <section class="card">
      <h2>Routes</h2>
      <p class="quiet">
        {routes.length > 1
          ? 'The gateway tries them in this order. A route that keeps failing is paused for a while.'
          : 'The provider that answers calls of this model.'}
      </p>
      <Table label="Routes" class="routes stacked" columns={columns}>
        {routes.map((route) => (
          <tr key={`${route.provider} ${route.upstream_model}`}>
            <td class="first">{route.provider_name}</td>
            <td>
              <code>{route.upstream_model}</code>
            </td>
            <td class="beside">
              {route.is_configured ? (
                <Circuit circuit={route.circuit} until={route.circuit_until} />
              ) : isOperator.value ? (
                <a href={addressOf('/providers')}>not configured</a>
              ) : (
                <span class="state">not configured</span>
              )}
            </td>
            <td class="at-end">
              <Health health={route.health} />
            </td>
            <td class="number minor">{route.health.attempts.toLocaleString('en-US')}</td>
            <td class="number across" data-head="Median / 95%">
              <Latency health={route.health} />
            </td>
          </tr>
        ))}
      </Table>
      <MeasuredOver measured={measured} />
    </section>
  )
}
