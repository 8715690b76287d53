import { RoleValues } from '../../../../generated/client-values.ts'
import { bodyOf, DELETE, GET, PATCH, type Schemas } from '../../data/api.ts'
import { useAct, useLoad } from '../../data/load.ts'
import { usePages } from '../../data/pages.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery, signedIn } from '../../data/session.ts'
import { keyBoundsText } from '../../elements/allowance.tsx'
import { AskFirst } from '../../elements/ask-first.tsx'
import { Select } from '../../elements/controls.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Gauge } from '../../elements/gauge.tsx'
import { More } from '../../elements/more.tsx'
import { NoPasswordLink, PasswordLink } from '../../elements/password-link.tsx'
import { Said, useSaid } from '../../elements/said.tsx'
import { acts, Table } from '../../elements/table.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { Invitations } from './invitations.tsx'
import { ChangeLimits } from './member-limits.tsx'
import { roleHints, rolesToGive } from './roles.ts'

type Member = Schemas['Member']

/** Members of the account, and open invitations. */
export function Members() {
  const members = usePages('members', (page, signal) =>
    bodyOf(GET('/api/members', { params: { query: { ...accountQuery(), ...page } }, signal })),
  )
  const [said, say] = useSaid()
  const done = (text: string) => {
    say(text)
    members.again()
  }
  const changing = useAct(async (member: Member, role: Member['role']) => {
    const params = { path: { id: member.id }, query: accountQuery() }
    await bodyOf(PATCH('/api/members/{id}', { params, body: { role } }))
    done(`${member.name} is now ${role}.`)
  })
  return (
    <>
      <section class="card">
        <h2>Members</h2>
        <Said said={said} />
        <Failure error={changing.error} />
        <WhenLoaded loaded={members} what="Loading the members">
          {(all) => (
            <Table
              label="Members"
              class="stacked"
              columns={['Name', 'E-mail', 'Role', 'Limits', 'Joined', acts]}
            >
              {all.map((member) => (
                <Row
                  // After a failed change, a new key resets the selection to the current role.
                  key={`${member.id} ${member.role} ${changing.error?.message}`}
                  member={member}
                  isLastOwner={members.more === undefined && isOnlyOwner(member, all)}
                  onRole={(role) => void changing.run(member, role)}
                  onRemoved={done}
                />
              ))}
            </Table>
          )}
        </WhenLoaded>
        <More more={members.more} />
        <NoPasswordLink members={members.data} />
        <ul class="hint roles">
          {RoleValues.map((role) => (
            <li key={role}>
              <strong>{role}</strong>: {roleHints[role]}
            </li>
          ))}
        </ul>
      </section>
      <Invitations />
    </>
  )
}

function isOnlyOwner(member: Member, all: readonly Member[]): boolean {
  return all.every((one) => (one.role === 'owner') === (one.id === member.id))
}

type RowProps = {
  member: Member
  isLastOwner: boolean
  onRole: (role: Member['role']) => void
  onRemoved: (said: string) => void
}

function Row({ member, isLastOwner, onRole, onRemoved }: RowProps) {
  const isOwn = member.id === signedIn.value?.person.id
  const mayGiveRole = rolesToGive().includes(member.role)
  const mayChange = !isOwn && mayGiveRole && !isLastOwner
  const mayLimit = mayGiveRole && !isOwn
  const isLimited = member.budget ?? member.key_bounds ?? member.sandbox_only
  return (
    <tr>
      <td class="first">
        {member.name} {isOwn && <span class="state">you</span>}
      </td>
      <td class="email">{member.email}</td>
      <td class="beside">{mayChange ? <RoleChoice {...{ member, onRole }} /> : member.role}</td>
      <td class={isLimited ? 'across' : 'minor'}>
        {!isLimited && '–'}
        {member.sandbox_only && <span class="state">sandbox only</span>}{' '}
        {member.key_bounds && (
          <span class="state" title={keyBoundsText(member.key_bounds)}>
            own keys
          </span>
        )}{' '}
        {member.budget && <Gauge budget={member.budget} />}
      </td>
      <td class="at-end" data-head="Joined">
        <Time at={member.joined_at} />
      </td>
      <td class="act across">
        {member.may_get_password_link && <PasswordLink member={member} />}{' '}
        {mayLimit && <ChangeLimits member={member} onDone={onRemoved} />}{' '}
        {mayChange && <Remove member={member} onDone={onRemoved} />}
        {isOwn && <a href={addressOf('/you')}>Leave on your page</a>}
      </td>
    </tr>
  )
}

type RemoveProps = { member: Member; onDone: (said: string) => void }

function Remove({ member: { id, name }, onDone }: RemoveProps) {
  return (
    <AskFirst
      button={{ text: 'Remove…', class: 'plain small' }}
      title={`Remove ${name}`}
      act="Remove the member"
      onDone={onDone}
      run={async () => {
        const params = { path: { id }, query: accountQuery() }
        const { keys } = await bodyOf(DELETE('/api/members/{id}', { params }))
        const names = keys.data.map((key) => key.name).join(', ')
        const stay = names === '' ? '' : ` Remaining keys: ${names}${keys.has_more ? ', …' : ''}.`
        return `${name} is no longer a member.${stay}`
      }}
    >
      <p>Their access to the account and their connections to it end at once.</p>
      <KeysThatStay personId={id} />
    </AskFirst>
  )
}

/** Lists the keys that the member created, which keep working after the member is removed. */
function KeysThatStay({ personId }: { personId: string }) {
  const query = { ...accountQuery(), created_by: personId, kind: 'key', state: 'active' } as const
  const { data, error } = useLoad(`keys created by ${personId}`, (signal) =>
    bodyOf(GET('/api/keys', { params: { query }, signal })),
  )
  if (data === undefined) return <Failure error={error} />
  if (data.data.length === 0) return <p>They created no key of the account.</p>
  return (
    <>
      <p>
        Keys that they created belong to the account and keep working for model calls, but lose
        administrative permissions; those of a person with limits are revoked.{' '}
        <a href={addressOf('/keys')}>Revoke unneeded keys</a>:
      </p>
      <ul aria-label="Remaining keys">
        {data.data.map((key) => (
          <li key={key.id}>
            {key.name} ({key.scopes.join(', ')})
          </li>
        ))}
        {data.has_more && <li>and more</li>}
      </ul>
    </>
  )
}

type ChoiceProps = Pick<RowProps, 'member' | 'onRole'>

function RoleChoice({ member, onRole }: ChoiceProps) {
  return (
    <Select
      class="small"
      aria-label={`Role of ${member.name}`}
      choices={rolesToGive()}
      chosen={member.role}
      onChoose={onRole}
    />
  )
}
