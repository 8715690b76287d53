import { useState } from 'preact/hooks'
import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { useAct, useLoad } from '../../data/load.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { KeyState } from '../../elements/key-state.tsx'
import { Money } from '../../elements/money.tsx'
import { Time } from '../../elements/time.tsx'
import { Waiting } from '../../elements/waiting.tsx'

type ApiKey = Schemas['ApiKey']

const ask = (cursor: string | undefined, signal?: AbortSignal) =>
  bodyOf(
    GET('/api/keys', {
      params: {
        query: { ...accountQuery(), kind: 'key', ...(cursor === undefined ? {} : { cursor }) },
      },
      ...(signal === undefined ? {} : { signal }),
    }),
  )

/** All keys, the newest first. */
export function KeyList() {
  const keys = useLoad('keys', (signal) => ask(undefined, signal))
  const [more, setMore] = useState<readonly ApiKey[]>([])
  const [cursor, setCursor] = useState<string | null>()
  const next = cursor === undefined ? keys.data?.next_cursor : cursor
  const loading = useAct(async () => {
    const page = await ask(next ?? undefined)
    setMore([...more, ...page.data])
    setCursor(page.next_cursor)
  })
  return (
    <>
      <div class="head">
        <h1>API keys</h1>
        <a class="button" href={addressOf('/keys/new')}>
          Create a key
        </a>
      </div>
      <Failure error={keys.error} again={keys.again} />
      {keys.data === undefined ? (
        keys.isLoading && <Waiting what="Loading the keys" />
      ) : (
        <Keys keys={[...keys.data.data, ...more]} />
      )}
      <Failure error={loading.error} />
      {next && (
        <button
          type="button"
          class="plain"
          disabled={loading.isBusy}
          onClick={() => void loading.run()}
        >
          Show more
        </button>
      )}
    </>
  )
}

function Keys({ keys }: { keys: readonly ApiKey[] }) {
  if (keys.length === 0) {
    return (
      <div class="card empty">
        <h2>There are no keys yet</h2>
        <p>
          Programs call the gateway with a key. A test key reaches the sandbox and costs nothing.
        </p>
      </div>
    )
  }
  return (
    <div class="card table" tabIndex={0} role="region" aria-label="API keys">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Key</th>
            <th scope="col">State</th>
            <th scope="col" class="number">
              Left of its budget
            </th>
            <th scope="col">Last used</th>
            <th scope="col">Created</th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <td>
                <a href={addressOf(`/keys/${key.id}`)}>{key.name}</a>
              </td>
              <td>
                <code>{key.hint}</code>
                {key.mode === 'test' && <span class="quiet"> test</span>}
              </td>
              <td>
                <KeyState state={key.state} />
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
        </tbody>
      </table>
    </div>
  )
}
