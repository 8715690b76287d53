import { useState } from 'preact/hooks'
import { bodyOf, DELETE, GET, POST, type Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useAct } from '../../data/load.ts'
import { usePages } from '../../data/pages.ts'
import { accountQuery } from '../../data/session.ts'
import { AskFirst } from '../../elements/ask-first.tsx'
import { SelectField } from '../../elements/controls.tsx'
import { Snippet } from '../../elements/copy.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Form } from '../../elements/form.tsx'
import { More } from '../../elements/more.tsx'
import { EmailField } from '../../elements/person-fields.tsx'
import { Said, useSaid } from '../../elements/said.tsx'
import { acts, Table } from '../../elements/table.tsx'
import { Time } from '../../elements/time.tsx'
import { limitsText, PersonLimitFields, personLimitsOf } from './member-limits.tsx'
import { rolesToGive } from './roles.ts'

type Invitation = Schemas['Invitation']

/** Invites people, and lists open invitations. */
export function Invitations() {
  const invitations = usePages('invitations', (page, signal) =>
    bodyOf(GET('/api/invitations', { params: { query: { ...accountQuery(), ...page } }, signal })),
  )
  const { data: open = [], error, again } = invitations
  const [made, setMade] = useState<Schemas['CreatedInvitation']>()
  const [said, say] = useSaid()
  return (
    <section class="card">
      <h2>Invite a person</h2>
      {/* The key resets the form after each invitation, so that the next one starts with the default role. */}
      <Invite
        key={made?.id ?? ''}
        onMade={(invitation) => {
          setMade(invitation)
          say(`${invitation.email} is invited. Send them this link. It is shown only now.`)
          again()
        }}
      />
      <Said said={said} />
      {made !== undefined && <Snippet text={made.link} what="the link" />}
      <Failure error={error} again={again} />
      {open.length > 0 && (
        <Open
          invitations={open}
          onWithdrawn={(text) => {
            setMade(undefined)
            say(text)
            again()
          }}
        />
      )}
      <More more={invitations.more} />
    </section>
  )
}

function Invite({ onMade }: { onMade: (made: Schemas['CreatedInvitation']) => void }) {
  const inviting = useAct(async (filled: FormData) => {
    const { email = '', role } = textsOf(filled)
    const body = { email, role: role as Schemas['Role'], ...personLimitsOf(filled) }
    onMade(await bodyOf(POST('/api/members', { params: { query: accountQuery() }, body })))
  })
  return (
    <Form class="invite" send={inviting.run}>
      {inviting.faultAt('email') === undefined && <Failure error={inviting.error} />}
      <div class="columns">
        <EmailField
          autoComplete="off"
          hint="The gateway sends no mail. You send them a link."
          fault={inviting.faultAt('email')}
        />
        <SelectField label="Role" name="role" choices={rolesToGive()} chosen="member" />
      </div>
      <PersonLimitFields faultAt={inviting.faultAt} />
      <button disabled={inviting.isBusy}>Create the link</button>
    </Form>
  )
}

type OpenProps = {
  invitations: readonly Invitation[]
  onWithdrawn: (said: string) => void
}

function Open({ invitations, onWithdrawn }: OpenProps) {
  return (
    <Table
      label="Open invitations"
      caption="Not accepted yet"
      class="stacked"
      columns={['E-mail', 'Role', 'Limits', 'Invited', 'Expires', acts]}
    >
      {invitations.map((invitation) => (
        <tr key={invitation.id}>
          <td class="email first">{invitation.email}</td>
          <td class="beside">{invitation.role}</td>
          <td data-head="Limits:">{limitsText(invitation)}</td>
          <td class="minor">
            <Time at={invitation.created_at} />
          </td>
          <td class="at-end" data-head="Expires">
            <Time at={invitation.expires_at} />
          </td>
          <td class="act across">
            {rolesToGive().includes(invitation.role) && (
              <Withdraw invitation={invitation} onDone={onWithdrawn} />
            )}
          </td>
        </tr>
      ))}
    </Table>
  )
}

type WithdrawProps = { invitation: Invitation; onDone: (said: string) => void }

function Withdraw({ invitation: { id, email }, onDone }: WithdrawProps) {
  return (
    <AskFirst
      button={{ text: 'Withdraw…', class: 'plain small' }}
      title={`Withdraw the invitation of ${email}`}
      act="Withdraw the invitation"
      onDone={onDone}
      run={async () => {
        const params = { path: { id }, query: accountQuery() }
        await bodyOf(DELETE('/api/invitations/{id}', { params }))
        return `The invitation of ${email} is withdrawn.`
      }}
    >
      <p>The link stops working.</p>
    </AskFirst>
  )
}
