import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { usePages } from '../../data/pages.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { KeyState } from '../../elements/key-state.tsx'
import { Money } from '../../elements/money.tsx'
import { More } from '../../elements/more.tsx'
import { Sketch } from '../../elements/sketch.tsx'
import { numbers, Table } from '../../elements/table.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'

/** All keys, newest first. */
export function KeyList() {
  const keys = usePages('keys', (page, signal) => {
    const query = { ...accountQuery(), kind: 'key', ...page } as const
    return bodyOf(GET('/api/keys', { params: { query }, signal }))
  })
  return (
    <>
      <div class="head">
        <h1>API keys</h1>
        <a class="button" href={addressOf('/keys/new')}>
          Create a key
        </a>
      </div>
      <WhenLoaded loaded={keys} what="Loading the keys">
        {(all) => <Keys keys={all} />}
      </WhenLoaded>
      <More more={keys.more} />
    </>
  )
}

const columns = ['Name', 'Key', 'State', numbers('Budget left'), 'Last used', 'Created']

function Keys({ keys }: { keys: readonly Schemas['ApiKey'][] }) {
  if (keys.length === 0) {
    return (
      <div class="card empty">
        <Sketch of="rows" />
        <h2>No keys yet</h2>
        <p>
          Programs call the gateway with a key. A test key calls the sandbox, and costs nothing.
        </p>
      </div>
    )
  }
  return (
    <div class="card">
      <Table label="API keys" columns={columns} opens>
        {keys.map((key) => (
          <tr key={key.id}>
            <td>
              <a href={addressOf(`/keys/${key.id}`)}>{key.name}</a>
            </td>
            <td class="whole">
              <code>{key.hint}</code>
              {key.mode === 'test' && <span class="quiet"> test</span>}
            </td>
            <td>
              <KeyState state={key.state} />
              {key.replaced_by !== null && key.state === 'active' && (
                <>
                  <br />
                  <span class="hint">
                    ends <Time at={key.expires_at} />, replaced by{' '}
                    <a href={addressOf(`/keys/${key.replaced_by}`)}>its successor</a>
                  </span>
                </>
              )}
            </td>
            <td class="number">
              {key.budget === null ? (
                <span class="quiet">no budget</span>
              ) : (
                <>
                  <Money usd={key.budget.left.usd} /> of <Money usd={key.budget.amount.usd} />
                </>
              )}
            </td>
            <td>
              <Time at={key.last_used_at} />
            </td>
            <td>
              <Time at={key.created_at} />
            </td>
          </tr>
        ))}
      </Table>
    </div>
  )
}
