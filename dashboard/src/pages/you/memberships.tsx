import { bodyOf, DELETE, type Schemas } from '../../data/api.ts'
import { forget, look, signedIn } from '../../data/session.ts'
import { AskFirst } from '../../elements/ask-first.tsx'
import { Gauge } from '../../elements/gauge.tsx'
import { Said, useSaid } from '../../elements/said.tsx'
import { acts, Table } from '../../elements/table.tsx'
import { Time } from '../../elements/time.tsx'

type Membership = Schemas['Membership']

/** Accounts of the person, each with a button to leave the account. */
export function Memberships() {
  const memberships = signedIn.value?.person.memberships ?? []
  const [said, say] = useSaid()
  return (
    <section class="card">
      <h2>Your accounts</h2>
      <Said said={said} />
      <Table
        label="Accounts"
        class="stacked"
        columns={['Account', 'Role', 'Your budget', 'Joined', acts]}
      >
        {memberships.map((one) => (
          <tr key={one.account_id}>
            <td class="first">{one.account_name}</td>
            <td>{one.role}</td>
            <td class={one.budget === null && !one.sandbox_only ? 'minor' : 'across'}>
              {one.sandbox_only && <span class="state">sandbox only</span>}{' '}
              {one.budget === null ? '–' : <Gauge budget={one.budget} />}
            </td>
            <td class="at-end" data-head="Joined">
              <Time at={one.joined_at} />
            </td>
            <td class="act beside">
              <Leave membership={one} isLast={memberships.length === 1} onDone={say} />
            </td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

type LeaveProps = { membership: Membership; isLast: boolean; onDone: (said: string) => void }

function Leave({ membership, isLast, onDone }: LeaveProps) {
  const { account_id: id, account_name: name } = membership
  return (
    <AskFirst
      button={{ text: 'Leave…', class: 'plain small' }}
      title={`Leave ${name}`}
      act="Leave the account"
      onDone={onDone}
      run={async () => {
        await bodyOf(DELETE('/api/me/memberships/{id}', { params: { path: { id } } }))
        if (isLast) forget()
        else await look()
        return `You have left ${name}.`
      }}
    >
      <p>
        You lose access to the account, and your connections to it end. Keys that you created belong
        to the account and keep working, or are revoked if you have limits here.
      </p>
      {isLast && (
        <p>
          <strong>This is your only account, so you are also signed out.</strong>
        </p>
      )}
    </AskFirst>
  )
}
