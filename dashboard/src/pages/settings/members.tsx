import { useState } from 'preact/hooks'
import { RoleValues } from '../../../../generated/client-values.ts'
import { bodyOf, DELETE, GET, PATCH, type Schemas } from '../../data/api.ts'
import { useAct } from '../../data/load.ts'
import { usePages } from '../../data/pages.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery, membership, signedIn } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { PasswordLink } from '../../elements/password-link.tsx'
import { Question } from '../../elements/question.tsx'
import { Said } from '../../elements/said.tsx'
import { Time } from '../../elements/time.tsx'
import { Waiting } from '../../elements/waiting.tsx'
import { Invitations } from './invitations.tsx'
import { roleHints } from './roles.ts'

type Member = Schemas['Member']

/** Who is in the account, and who is invited. */
export function Members() {
  const members = usePages('members', (cursor, signal) =>
    bodyOf(
      GET('/api/members', {
        params: { query: { ...accountQuery(), ...(cursor === undefined ? {} : { cursor }) } },
        ...(signal === undefined ? {} : { signal }),
      }),
    ),
  )
  const [asked, setAsked] = useState<Member>()
  const [forgetful, setForgetful] = useState<Member>()
  const [said, setSaid] = useState<string>()
  const done = (text: string) => {
    setSaid(text)
    members.again()
  }
  const changing = useAct(async (member: Member, role: Member['role']) => {
    const params = { path: { id: member.id }, query: accountQuery() }
    await bodyOf(PATCH('/api/members/{id}', { params, body: { role } }))
    done(`${member.name} is ${role} now.`)
  })
  return (
    <>
      <section class="card">
        <h2>Members</h2>
        <Said text={said} />
        <Failure error={members.error ?? changing.error} again={members.error && members.again} />
        {members.items === undefined ? (
          members.isLoading && <Waiting what="Loading the members" />
        ) : (
          <Table
            // A role that was refused is shown as it is.
            key={`${members.items.map(({ role }) => role).join()} ${changing.error?.message}`}
            members={members.items}
            onRole={(member, role) => void changing.run(member, role)}
            onRemove={setAsked}
            onForgot={setForgetful}
          />
        )}
        {members.more && (
          <button type="button" class="plain" onClick={members.more}>
            Show more
          </button>
        )}
        <p class="hint">{RoleValues.map((role) => `${role}: ${roleHints[role]}`).join(' ')}</p>
      </section>
      <Invitations />
      {forgetful !== undefined && (
        <PasswordLink member={forgetful} onClose={() => setForgetful(undefined)} />
      )}
      {asked !== undefined && (
        <Question
          title={`Remove ${asked.name}`}
          act="Remove the member"
          onClose={() => setAsked(undefined)}
          run={async () => {
            const params = { path: { id: asked.id }, query: accountQuery() }
            await bodyOf(DELETE('/api/members/{id}', { params }))
            done(`${asked.name} is no member any more.`)
          }}
        >
          <p>
            Their next request is refused, and their connections to the account end. The keys that
            they made are the account’s, and stay.
          </p>
        </Question>
      )}
    </>
  )
}

type TableProps = {
  members: readonly Member[]
  onRole: (member: Member, role: Member['role']) => void
  onRemove: (member: Member) => void
  onForgot: (member: Member) => void
}

function Table({ members, onRole, onRemove, onForgot }: TableProps) {
  const own = signedIn.value?.person.id
  const isOwner = membership.value?.role === 'owner'
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Members">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">E-mail</th>
            <th scope="col">Role</th>
            <th scope="col">Joined</th>
            <th scope="col">
              <span class="hidden">What can be done</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {members.map((member) => {
            const isOther = member.id !== own && (isOwner || member.role !== 'owner')
            return (
              <tr key={member.id}>
                <td>
                  {member.name} {member.id === own && <span class="state">you</span>}
                </td>
                <td class="email">{member.email}</td>
                <td>{isOther ? <RoleChoice {...{ member, isOwner, onRole }} /> : member.role}</td>
                <td>
                  <Time at={member.joined_at} />
                </td>
                <td class="act">
                  {isOther && (
                    <>
                      <button type="button" class="plain small" onClick={() => onForgot(member)}>
                        New password…
                      </button>{' '}
                      <button type="button" class="plain small" onClick={() => onRemove(member)}>
                        Remove…
                      </button>
                    </>
                  )}
                  {member.id === own && <a href={addressOf('/you')}>Leave on your page</a>}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

type ChoiceProps = Pick<TableProps, 'onRole'> & { member: Member; isOwner: boolean }

function RoleChoice({ member, isOwner, onRole }: ChoiceProps) {
  return (
    <select
      class="small"
      aria-label={`Role of ${member.name}`}
      onChange={(event) => onRole(member, event.currentTarget.value as Member['role'])}
    >
      {RoleValues.filter((role) => isOwner || role !== 'owner').map((role) => (
        <option key={role} value={role} selected={role === member.role}>
          {role}
        </option>
      ))}
    </select>
  )
}
