import { useState } from 'preact/hooks'
import { RoleValues, textLengths } from '../../../../generated/client-values.ts'
import { bodyOf, DELETE, GET, POST, type Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useAct } from '../../data/load.ts'
import { usePages } from '../../data/pages.ts'
import { accountQuery, membership } from '../../data/session.ts'
import { Snippet } from '../../elements/copy.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Field } from '../../elements/field.tsx'
import { Question } from '../../elements/question.tsx'
import { Said } from '../../elements/said.tsx'
import { Time } from '../../elements/time.tsx'
import { roleHints } from './roles.ts'

type Invitation = Schemas['Invitation']

/** Invites people, and lists who has not accepted yet. */
export function Invitations() {
  const invitations = usePages('invitations', (cursor, signal) =>
    bodyOf(
      GET('/api/invitations', {
        params: { query: { ...accountQuery(), ...(cursor === undefined ? {} : { cursor }) } },
        ...(signal === undefined ? {} : { signal }),
      }),
    ),
  )
  const [made, setMade] = useState<Schemas['CreatedInvitation']>()
  const [asked, setAsked] = useState<Invitation>()
  const [said, setSaid] = useState<string>()
  return (
    <section class="card">
      <h2>Invite somebody</h2>
      <Invite
        onMade={(invitation) => {
          setMade(invitation)
          setSaid(`${invitation.email} is invited. Hand them this link: it is shown this once.`)
          invitations.again()
        }}
      />
      <Said text={said} />
      {made !== undefined && <Snippet text={made.link} what="the link" />}
      <Failure error={invitations.error} again={invitations.again} />
      {invitations.items !== undefined && invitations.items.length > 0 && (
        <Open invitations={invitations.items} onWithdraw={setAsked} />
      )}
      {invitations.more && (
        <button type="button" class="plain" onClick={invitations.more}>
          Show more
        </button>
      )}
      {asked !== undefined && (
        <Question
          title={`Withdraw the invitation of ${asked.email}`}
          act="Withdraw it"
          onClose={() => setAsked(undefined)}
          run={async () => {
            const params = { path: { id: asked.id }, query: accountQuery() }
            await bodyOf(DELETE('/api/invitations/{id}', { params }))
            setMade(undefined)
            setSaid(`The invitation of ${asked.email} is withdrawn.`)
            invitations.again()
          }}
        >
          <p>Its link works no more.</p>
        </Question>
      )}
    </section>
  )
}

function Invite({ onMade }: { onMade: (made: Schemas['CreatedInvitation']) => void }) {
  const isOwner = membership.value?.role === 'owner'
  const inviting = useAct(async (element: HTMLFormElement) => {
    const { email = '', role } = textsOf(new FormData(element))
    const body = { email, role: role as Schemas['Role'] }
    onMade(await bodyOf(POST('/api/members', { params: { query: accountQuery() }, body })))
    element.reset()
  })
  const { error } = inviting
  return (
    <form
      class="invite"
      onSubmit={(event) => {
        event.preventDefault()
        void inviting.run(event.currentTarget)
      }}
    >
      {error?.param !== 'email' && <Failure error={error} />}
      <div class="columns">
        <Field
          label="E-mail"
          hint="The gateway sends no mail: you hand them a link."
          fault={error?.param === 'email' ? error.message : undefined}
        >
          {(attributes) => (
            <input
              {...attributes}
              name="email"
              type="email"
              autoComplete="off"
              maxLength={textLengths.Email.max}
              required
            />
          )}
        </Field>
        <Field label="Role">
          {(attributes) => (
            <select {...attributes} name="role">
              {RoleValues.filter((role) => isOwner || role !== 'owner').map((role) => (
                <option key={role} value={role} selected={role === 'member'}>
                  {role}: {roleHints[role]}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <button disabled={inviting.isBusy}>Make the link</button>
    </form>
  )
}

type OpenProps = {
  invitations: readonly Invitation[]
  onWithdraw: (invitation: Invitation) => void
}

function Open({ invitations, onWithdraw }: OpenProps) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Open invitations">
      <table>
        <caption>Not accepted yet</caption>
        <thead>
          <tr>
            <th scope="col">E-mail</th>
            <th scope="col">Role</th>
            <th scope="col">Invited</th>
            <th scope="col">Works until</th>
            <th scope="col">
              <span class="hidden">What can be done</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {invitations.map((invitation) => (
            <tr key={invitation.id}>
              <td class="email">{invitation.email}</td>
              <td>{invitation.role}</td>
              <td>
                <Time at={invitation.created_at} />
              </td>
              <td>
                <Time at={invitation.expires_at} />
              </td>
              <td class="act">
                <button type="button" class="plain small" onClick={() => onWithdraw(invitation)}>
                  Withdraw…
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
