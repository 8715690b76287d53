import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { usePages } from '../../data/pages.ts'
import { More } from '../../elements/more.tsx'
import { NoPasswordLink, PasswordLink } from '../../elements/password-link.tsx'
import { acts, Table } from '../../elements/table.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'

/** Members of an account, with buttons for password links. */
export function Members({ account: { id } }: { account: Schemas['Account'] }) {
  const members = usePages(`members of ${id}`, (page, signal) => {
    const query = { account_id: id, ...page }
    return bodyOf(GET('/api/members', { params: { query }, signal }))
  })
  return (
    <section class="card">
      <h2>Members</h2>
      <WhenLoaded loaded={members} what="Loading the members">
        {(all) =>
          all.length === 0 ? (
            <p class="quiet">No members yet. Invite an owner below.</p>
          ) : (
            <People members={all} />
          )
        }
      </WhenLoaded>
      <More more={members.more} />
      <NoPasswordLink members={members.data} />
    </section>
  )
}

function People({ members }: { members: readonly Schemas['Member'][] }) {
  return (
    <Table label="Members" class="stacked" columns={['Name', 'E-mail', 'Role', acts]}>
      {members.map((member) => (
        <tr key={member.id}>
          <td class="first">{member.name}</td>
          <td class="email across">{member.email}</td>
          <td class="beside">{member.role}</td>
          <td class="act across">
            {member.may_get_password_link && <PasswordLink member={member} />}
          </td>
        </tr>
      ))}
    </Table>
  )
}
