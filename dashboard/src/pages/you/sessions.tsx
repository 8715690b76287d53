import { bodyOf, DELETE, GET, type Schemas } from '../../data/api.ts'
import { usePages } from '../../data/pages.ts'
import { AskFirst } from '../../elements/ask-first.tsx'
import { More } from '../../elements/more.tsx'
import { Said, useSaid } from '../../elements/said.tsx'
import { acts, Table } from '../../elements/table.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { deviceOf } from './device.ts'

type Session = Schemas['Session']

/** Sessions of the person; every session but the current one can be ended here. */
export function Sessions() {
  const sessions = usePages('sessions', (page, signal) =>
    bodyOf(GET('/api/sessions', { params: { query: page }, signal })),
  )
  const [said, say] = useSaid()
  const ended = (text: string) => {
    say(text)
    sessions.again()
  }
  const hasOthers = sessions.data?.some(({ current }) => !current) === true
  return (
    <section class="card">
      <div class="head">
        <h2>Where you are signed in</h2>
        {hasOthers && <EndOthers onDone={ended} />}
      </div>
      <Said said={said} />
      <WhenLoaded loaded={sessions}>
        {(all) => (
          <Table
            label="Sessions"
            class="stacked"
            columns={['Device', 'Address', 'Last used', 'Since', acts]}
          >
            {all.map((session) => (
              <Row key={session.id} session={session} onEnded={ended} />
            ))}
          </Table>
        )}
      </WhenLoaded>
      <More more={sessions.more} />
    </section>
  )
}

type EndProps = { onDone: (said: string) => void }

function EndOthers({ onDone }: EndProps) {
  return (
    <AskFirst
      button={{ text: 'Sign out everywhere else…', class: 'plain small' }}
      title="Sign out everywhere else"
      act="Sign out everywhere else"
      onDone={onDone}
      run={async () => {
        await bodyOf(DELETE('/api/sessions'))
        return 'You are signed out everywhere else.'
      }}
    >
      <p>All your other sessions end at once.</p>
    </AskFirst>
  )
}

type RowProps = { session: Session; onEnded: (said: string) => void }

function Row({ session, onEnded }: RowProps) {
  return (
    <tr>
      <td class="first" title={session.user_agent ?? undefined}>
        {deviceOf(session.user_agent)}
      </td>
      <td class="across">{session.address ?? 'unknown'}</td>
      <td data-head="Last used">
        <Time at={session.last_used_at} />
      </td>
      <td class="at-end" data-head="Since">
        <Time at={session.created_at} />
      </td>
      <td class="act beside">
        {session.current ? (
          <span class="state good">this one</span>
        ) : (
          <EndOne session={session} onDone={onEnded} />
        )}
      </td>
    </tr>
  )
}

function EndOne({ session, onDone }: EndProps & { session: Session }) {
  const device = deviceOf(session.user_agent)
  return (
    <AskFirst
      button={{ text: 'Sign out…', class: 'plain small' }}
      title={`Sign out ${device}`}
      act="Sign out the device"
      onDone={onDone}
      run={async () => {
        const params = { path: { session_id: session.id } }
        await bodyOf(DELETE('/api/sessions/{session_id}', { params }))
        return `${device} is signed out.`
      }}
    >
      <p>The session on this device ends at once.</p>
    </AskFirst>
  )
}
