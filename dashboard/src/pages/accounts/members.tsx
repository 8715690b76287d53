import { useState } from 'preact/hooks'
import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { usePages } from '../../data/pages.ts'
import { signedIn } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { PasswordLink } from '../../elements/password-link.tsx'
import { Waiting } from '../../elements/waiting.tsx'

type Member = Schemas['Member']

/** Who is in an account, for those who help them in again. */
export function Members({ account }: { account: Schemas['Account'] }) {
  const members = usePages(`members of ${account.id}`, (cursor, signal) => {
    const query = { account_id: account.id, ...(cursor === undefined ? {} : { cursor }) }
    return bodyOf(
      GET('/api/members', { params: { query }, ...(signal === undefined ? {} : { signal }) }),
    )
  })
  const [forgetful, setForgetful] = useState<Member>()
  return (
    <section class="card">
      <h2>Members</h2>
      <Failure error={members.error} again={members.again} />
      {members.items === undefined && members.isLoading && <Waiting what="Loading the members" />}
      {members.items?.length === 0 && <p class="quiet">Nobody yet. Invite an owner below.</p>}
      {members.items !== undefined && members.items.length > 0 && (
        <Table members={members.items} onForgot={setForgetful} />
      )}
      {members.more && (
        <button type="button" class="plain" onClick={members.more}>
          Show more
        </button>
      )}
      {forgetful !== undefined && (
        <PasswordLink member={forgetful} onClose={() => setForgetful(undefined)} />
      )}
    </section>
  )
}

type TableProps = { members: readonly Member[]; onForgot: (member: Member) => void }

function Table({ members, onForgot }: TableProps) {
  const own = signedIn.value?.person.id
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Members">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">E-mail</th>
            <th scope="col">Role</th>
            <th scope="col">
              <span class="hidden">What can be done</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {members.map((member) => (
            <tr key={member.id}>
              <td>{member.name}</td>
              <td class="email">{member.email}</td>
              <td>{member.role}</td>
              <td class="act">
                {member.id !== own && (
                  <button type="button" class="plain small" onClick={() => onForgot(member)}>
                    New password…
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
