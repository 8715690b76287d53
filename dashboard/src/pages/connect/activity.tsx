import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { accountQuery, isOperator } from '../../data/session.ts'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { remedyOf } from './remedies.ts'

type Attempt = Schemas['RefusedAttempt']

// Interval of the requests; short, because a person waits on this page until a client has connected.
const lookedEveryMs = 5000
const shownMax = 20

/** Recent connections of clients, and failed attempts with remedies. */
export function Activity() {
  const activity = useLoad(
    `connections ${isOperator.value}`,
    async (signal) => {
      const params = { query: { ...accountQuery(), limit: shownMax } }
      const refused = { kind: 'connect', limit: shownMax } as const
      const [clients, attempts, unknown] = await Promise.all([
        bodyOf(GET('/api/clients', { params, signal })),
        bodyOf(
          GET('/api/attempts', { params: { query: { ...accountQuery(), ...refused } }, signal }),
        ),
        isOperator.value
          ? bodyOf(GET('/api/attempts/unknown', { params: { query: refused }, signal }))
          : undefined,
      ])
      return { clients: clients.data, attempts: attempts.data, unknown: unknown?.data ?? [] }
    },
    { everyMs: lookedEveryMs },
  )
  return (
    <WhenLoaded loaded={activity} what="Loading connections">
      {(all) => <Events {...all} />}
    </WhenLoaded>
  )
}

type EventsProps = {
  clients: readonly Schemas['ToolClient'][]
  attempts: readonly Attempt[]
  /** Attempts without a valid key or connection; operators alone see them. */
  unknown: readonly Attempt[]
}

function Events({ clients, attempts, unknown }: EventsProps) {
  return (
    <div class="halves">
      <section class="card">
        <h2>Connected clients</h2>
        {clients.length === 0 ? (
          <p class="quiet">
            No client yet. Add the address to a client below; it appears here within a minute.
          </p>
        ) : (
          <ul class="events">
            {clients.map((client) => (
              <Connected key={client.id} client={client} />
            ))}
          </ul>
        )}
      </section>
      <section class="card">
        <h2>Failed attempts</h2>
        {attempts.length + unknown.length === 0 ? (
          <p class="quiet">
            No failed attempts. The gateway lists refused attempts here, with a remedy.
          </p>
        ) : (
          <ul class="events">
            {attempts.map((attempt) => (
              <Failed key={attempt.id} attempt={attempt} />
            ))}
          </ul>
        )}
        {unknown.length > 0 && (
          <>
            <h3>From unknown callers</h3>
            <p class="hint">Only operators of the gateway see these.</p>
            <ul class="events">
              {unknown.map((attempt) => (
                <Failed key={attempt.id} attempt={attempt} />
              ))}
            </ul>
          </>
        )}
      </section>
    </div>
  )
}

function Connected({ client }: { client: Schemas['ToolClient'] }) {
  const { name, version, key, connected_at: connected, last_seen_at: seen } = client
  return (
    <li>
      <p>
        <strong>{name}</strong> {version !== null && <span class="quiet">{version}</span>}{' '}
        {connected === null ? 'was seen' : 'connected'} <Time at={connected ?? seen} />
        {client.last_tool !== null && (
          <>
            , last called <code>{client.last_tool}</code> <Time at={client.last_tool_at} />
          </>
        )}
        .
      </p>
      <p class="hint">
        With {kinds[key.kind]} {key.name}
      </p>
    </li>
  )
}

const kinds: Record<Schemas['ApiKeyKind'], string> = {
  key: 'the key',
  connection: 'the connection',
  client: 'the service',
  session: 'the playground of',
}

function Failed({ attempt }: { attempt: Attempt }) {
  const { client, key, header, times, redirect_host: host } = attempt
  const { what, remedy, showsMessage = false } = remedyOf(attempt)
  return (
    <li>
      <p>
        <strong>{client?.name ?? 'An unknown client'}</strong> {what} <Time at={attempt.last_at} />
        {times > 1 && `, ${times} times`}
        {header !== null && (
          <>
            {' '}
            (header <code>{header}</code>)
          </>
        )}
        .
      </p>
      <p>{remedy}</p>
      <p class="hint">
        {key !== null && (
          <>
            With {kinds[key.kind]} {key.name}.{' '}
          </>
        )}
        {host !== null && <>Redirect host: {host}. </>}
        {attempt.address !== null && <>From {attempt.address}. </>}
        {showsMessage && attempt.message}
      </p>
    </li>
  )
}
