import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { accountQuery } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { Waiting } from '../../elements/waiting.tsx'

type ApiKey = Schemas['ApiKey']

/** The API keys of the account. */
export function Page() {
  const keys = useLoad('keys', (signal) =>
    bodyOf(GET('/api/keys', { params: { query: accountQuery() }, signal })),
  )
  return (
    <>
      <div class="head">
        <h1>API keys</h1>
      </div>
      <Failure error={keys.error} again={keys.again} />
      {keys.data === undefined ? keys.isLoading && <Waiting /> : <Keys keys={keys.data.data} />}
    </>
  )
}

function Keys({ keys }: { keys: readonly ApiKey[] }) {
  if (keys.length === 0) return <p class="card empty">There are no keys yet.</p>
  return (
    <div class="card table">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Key</th>
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <td>{key.name}</td>
              <td>
                <code>{key.hint}</code>
              </td>
              <td>
                <span class={key.state === 'active' ? 'state good' : 'state'}>{key.state}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
