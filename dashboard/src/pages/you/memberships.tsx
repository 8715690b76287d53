import { useState } from 'preact/hooks'
import { bodyOf, DELETE, type Schemas } from '../../data/api.ts'
import { forget, look, signedIn } from '../../data/session.ts'
import { Question } from '../../elements/question.tsx'
import { Said } from '../../elements/said.tsx'
import { Time } from '../../elements/time.tsx'

type Membership = Schemas['Membership']

/** The accounts of the person, each of which can be left. */
export function Memberships() {
  const memberships = signedIn.value?.person.memberships ?? []
  const [asked, setAsked] = useState<Membership>()
  const [said, setSaid] = useState<string>()
  return (
    <section class="card">
      <h2>Your accounts</h2>
      <Said text={said} />
      <div class="table" tabIndex={0} role="region" aria-label="Accounts">
        <table>
          <thead>
            <tr>
              <th scope="col">Account</th>
              <th scope="col">Role</th>
              <th scope="col">Joined</th>
              <th scope="col">
                <span class="hidden">What can be done</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {memberships.map((one) => (
              <tr key={one.account_id}>
                <td>{one.account_name}</td>
                <td>{one.role}</td>
                <td>
                  <Time at={one.joined_at} />
                </td>
                <td class="act">
                  <button type="button" class="plain small" onClick={() => setAsked(one)}>
                    Leave…
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {asked !== undefined && (
        <Leaving
          membership={asked}
          isLast={memberships.length === 1}
          onClose={() => setAsked(undefined)}
          onLeft={() => setSaid(`You have left ${asked.account_name}.`)}
        />
      )}
    </section>
  )
}

type LeavingProps = {
  membership: Membership
  isLast: boolean
  onClose: () => void
  onLeft: () => void
}

function Leaving({ membership, isLast, onClose, onLeft }: LeavingProps) {
  const { account_id: id, account_name: name } = membership
  return (
    <Question
      title={`Leave ${name}`}
      act="Leave the account"
      onClose={onClose}
      run={async () => {
        await bodyOf(DELETE('/api/me/memberships/{id}', { params: { path: { id } } }))
        onLeft()
        if (isLast) forget()
        else await look()
      }}
    >
      <p>
        You can use nothing of it any more, and your connections to it end. The keys that you made
        are the account’s, and stay.
      </p>
      {isLast && (
        <p>
          <strong>It is your only account: you are signed out, too.</strong>
        </p>
      )}
    </Question>
  )
}
