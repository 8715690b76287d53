import { bodyOf, GET, type Schemas } from '../data/api.ts'
import { useLoad } from '../data/load.ts'
import { shortCount } from '../data/money.ts'
import { addressOf } from '../data/place.ts'
import type { Range } from '../data/ranges.ts'
import { accountQuery, mayAdminister } from '../data/session.ts'
import { Failure } from './failure.tsx'
import { numbers, Table } from './table.tsx'
import { Time } from './time.tsx'

type Refusal = Schemas['Refusal']

const causes: Readonly<Record<string, string>> = {
  insufficient_quota: 'budget spent',
  rate_limit_exceeded: 'limit reached',
  model_not_found: 'unknown model',
  model_not_allowed: 'model not allowed',
  no_provider_configured: 'no provider',
  invalid_api_key: 'wrong key',
  expired_api_key: 'expired key',
}
const causeOf = ({ error_code: code }: Refusal) => causes[code] ?? code

const pollMs = 30_000

type Props = {
  mode: Schemas['Mode']
  /** The last 30 days by default. */
  range?: Range
  /** Only calls with this key. */
  keyId?: string
  /** Whether to include calls with keys that do not exist; operators alone see them. */
  withStrangers?: boolean
  /** Whether the table starts expanded. */
  isOpen?: boolean
}

/** Calls that the gateway refused before it called a provider, by cause and key; hidden when empty. */
export function Refusals({ mode, range, keyId, withStrangers = false, isOpen = false }: Props) {
  const { data, error, again } = useLoad(
    `refusals ${mode} ${range?.from} ${range?.to} ${keyId}`,
    (signal) => {
      const query = {
        ...accountQuery(),
        ...range,
        mode,
        ...(keyId !== undefined && { key_id: keyId }),
      }
      return bodyOf(GET('/api/refusals', { params: { query }, signal }))
    },
    { everyMs: pollMs },
  )
  const rows = data?.data.filter(({ key }) => withStrangers || key !== null) ?? []
  if (rows.length === 0) return <Failure error={error} again={again} />
  const calls = rows.reduce((sum, one) => sum + one.calls, 0)
  const byCause = [...Map.groupBy(rows, causeOf)].map(
    ([cause, some]) => `${cause} (${shortCount(some.reduce((sum, one) => sum + one.calls, 0))})`,
  )
  return (
    <details class="card" open={isOpen}>
      <summary>
        {calls === 1 ? '1 call was refused' : `${shortCount(calls)} calls were refused`}:{' '}
        {byCause.join(', ')}
      </summary>
      <p class="hint">
        The gateway refused these calls before it called a provider. They cost nothing, and Requests
        does not list them.
      </p>
      <Table
        label="Refused calls"
        columns={['Cause', ...(keyId === undefined ? ['Key'] : []), numbers('Calls'), 'Last']}
      >
        {rows.map((one) => (
          <tr key={`${one.key?.id} ${one.error_code}`}>
            <td>
              <strong>{causeOf(one)}</strong>
              <br />
              <span class="quiet">{one.remedy}</span>
            </td>
            {keyId === undefined && (
              <td>{one.key === null ? 'does not exist' : <KeyName {...one.key} />}</td>
            )}
            <td class="number">{shortCount(one.calls)}</td>
            <td>
              <Time at={one.last_at} />
            </td>
          </tr>
        ))}
      </Table>
      {data?.has_more && <p class="hint">The table shows only the most frequent causes.</p>}
    </details>
  )
}

function KeyName({ id, name }: Schemas['UsedKey']) {
  return mayAdminister.value ? <a href={addressOf(`/keys/${id}`)}>{name}</a> : <>{name}</>
}
