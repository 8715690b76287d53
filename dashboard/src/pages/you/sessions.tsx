import { useState } from 'preact/hooks'
import { bodyOf, DELETE, GET, type Schemas } from '../../data/api.ts'
import { usePages } from '../../data/pages.ts'
import { Failure } from '../../elements/failure.tsx'
import { Question } from '../../elements/question.tsx'
import { Said } from '../../elements/said.tsx'
import { Time } from '../../elements/time.tsx'
import { Waiting } from '../../elements/waiting.tsx'
import { deviceOf } from './device.ts'

type Session = Schemas['Session']

/** Where the person is signed in; what is not theirs can be ended. */
export function Sessions() {
  const sessions = usePages('sessions', (cursor, signal) =>
    bodyOf(
      GET('/api/sessions', {
        params: { query: cursor === undefined ? {} : { cursor } },
        ...(signal === undefined ? {} : { signal }),
      }),
    ),
  )
  const [asked, setAsked] = useState<Session | 'others'>()
  const [said, setSaid] = useState<string>()
  const ended = (text: string) => {
    setSaid(text)
    sessions.again()
  }
  const hasOthers = sessions.items?.some(({ current }) => !current) === true
  return (
    <section class="card">
      <div class="head">
        <h2>Where you are signed in</h2>
        {hasOthers && (
          <button type="button" class="plain small" onClick={() => setAsked('others')}>
            Sign out everywhere else…
          </button>
        )}
      </div>
      <Said text={said} />
      <Failure error={sessions.error} again={sessions.again} />
      {sessions.items === undefined ? (
        sessions.isLoading && <Waiting />
      ) : (
        <Table sessions={sessions.items} onEnd={setAsked} />
      )}
      {sessions.more && (
        <button type="button" class="plain" onClick={sessions.more}>
          Show more
        </button>
      )}
      {asked !== undefined && (
        <Ending asked={asked} onClose={() => setAsked(undefined)} onEnded={ended} />
      )}
    </section>
  )
}

type TableProps = { sessions: readonly Session[]; onEnd: (session: Session) => void }

function Table({ sessions, onEnd }: TableProps) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Sessions">
      <table>
        <thead>
          <tr>
            <th scope="col">Device</th>
            <th scope="col">Address</th>
            <th scope="col">Last used</th>
            <th scope="col">Since</th>
            <th scope="col">
              <span class="hidden">What can be done</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {sessions.map((session) => (
            <tr key={session.id}>
              <td title={session.user_agent ?? undefined}>{deviceOf(session.user_agent)}</td>
              <td>{session.address ?? 'unknown'}</td>
              <td>
                <Time at={session.last_used_at} />
              </td>
              <td>
                <Time at={session.created_at} />
              </td>
              <td class="act">
                {session.current ? (
                  <span class="state good">this one</span>
                ) : (
                  <button type="button" class="plain small" onClick={() => onEnd(session)}>
                    Sign out…
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

type EndingProps = {
  asked: Session | 'others'
  onClose: () => void
  onEnded: (text: string) => void
}

function Ending({ asked, onClose, onEnded }: EndingProps) {
  if (asked === 'others') {
    return (
      <Question
        title="Sign out everywhere else"
        act="Sign out everywhere else"
        onClose={onClose}
        run={async () => {
          await bodyOf(DELETE('/api/sessions'))
          onEnded('You are signed out everywhere else.')
        }}
      >
        <p>All your sessions end at once but this one.</p>
      </Question>
    )
  }
  const device = deviceOf(asked.user_agent)
  return (
    <Question
      title={`Sign out ${device}`}
      act="Sign it out"
      onClose={onClose}
      run={async () => {
        const params = { path: { session_id: asked.id } }
        await bodyOf(DELETE('/api/sessions/{session_id}', { params }))
        onEnded(`${device} is signed out.`)
      }}
    >
      <p>Whoever uses it is signed out at once.</p>
    </Question>
  )
}
