import { useState } from 'preact/hooks'
import { bodyOf, GET, PATCH, POST, type Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useAct, useLoad } from '../../data/load.ts'
import { shortCount } from '../../data/money.ts'
import { addressOf } from '../../data/place.ts'
import { roleIn } from '../../data/session.ts'
import { Head } from '../../elements/head.tsx'
import { CopyButton, Snippet } from '../../elements/copy.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Form } from '../../elements/form.tsx'
import { Gauge } from '../../elements/gauge.tsx'
import { Money } from '../../elements/money.tsx'
import { EmailField } from '../../elements/person-fields.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { AllowanceFields, allowanceIn } from './allowance.tsx'
import { Members } from './members.tsx'

type Account = Schemas['Account']

/** One account: its usage, budget, limits and members. */
export function OneAccount({ id }: { id: string }) {
  const loaded = useLoad(`account ${id}`, (signal) => {
    const params = { path: { id }, query: { include_activity: true } }
    return bodyOf(GET('/api/accounts/{id}', { params, signal }))
  })
  return (
    <>
      <Head title={loaded.data?.name ?? 'Account'}>
        <a href={addressOf('/accounts')}>All accounts</a>
      </Head>
      <WhenLoaded loaded={loaded} what="Loading the account">
        {(account) => (
          <>
            <About account={account} />
            <Change account={account} again={loaded.again} />
            <Members account={account} />
            {roleIn(id) === 'owner' && <Invite account={account} />}
          </>
        )}
      </WhenLoaded>
    </>
  )
}

function About({ account }: { account: Account }) {
  const { activity, budget } = account
  return (
    <section class="card">
      <dl class="facts">
        <dt>Id</dt>
        <dd class="row">
          <code>{account.id}</code>
          <CopyButton text={account.id} what="the account's id" />
          {account.is_operator && <span class="state">runs the gateway</span>}
        </dd>
        <dt>Created</dt>
        <dd>
          <Time at={account.created_at} />
        </dd>
        {activity !== undefined && (
          <>
            <dt>Spent this month</dt>
            <dd>
              <Money usd={activity.spent.usd} />
            </dd>
            <dt>Calls this month</dt>
            <dd>
              {shortCount(activity.calls)}
              {activity.failed_calls > 0 && `, ${shortCount(activity.failed_calls)} of them failed`}
            </dd>
            <dt>Members</dt>
            <dd>{shortCount(activity.members)}</dd>
            <dt>Active keys</dt>
            <dd>{shortCount(activity.keys)}</dd>
          </>
        )}
        {budget !== null && (
          <>
            <dt>Budget</dt>
            <dd>
              <Gauge budget={budget} />
            </dd>
          </>
        )}
      </dl>
    </section>
  )
}

function Change({ account, again }: { account: Account; again: () => void }) {
  const [isChanged, setChanged] = useState(false)
  const changing = useAct(async (form: FormData) => {
    setChanged(false)
    const params = { path: { id: account.id } }
    await bodyOf(PATCH('/api/accounts/{id}', { params, body: allowanceIn(form) }))
    setChanged(true)
    again()
  })
  return (
    <Form
      class="card"
      aria-label="Name, budget and limits"
      onInput={() => setChanged(false)}
      send={changing.run}
    >
      <h2>Name, budget and limits</h2>
      <Failure error={changing.error} />
      <AllowanceFields account={account} faultAt={changing.faultAt} />
      <div class="row">
        <button disabled={changing.isBusy}>
          {changing.isBusy ? 'Saving…' : 'Save name, budget and limits'}
        </button>
        <span role="status">{isChanged && 'Saved. The change applies from the next call on.'}</span>
      </div>
    </Form>
  )
}

/** Invites the first owner of an account that the operator created for other people. */
function Invite({ account }: { account: Account }) {
  const [invited, setInvited] = useState<Schemas['CreatedInvitation']>()
  const inviting = useAct(async (form: FormData) => {
    const { email = '' } = textsOf(form)
    const body = { email, role: 'owner' } as const
    const params = { query: { account_id: account.id } }
    setInvited(await bodyOf(POST('/api/members', { params, body })))
  })
  return (
    <Form class="card" aria-label="Invite an owner" send={inviting.run}>
      <h2>Invite an owner</h2>
      <p class="quiet">Owners create keys, invite members, and see what the account spends.</p>
      <Failure error={inviting.error} />
      {invited === undefined ? (
        <>
          <EmailField autoComplete="off" />
          <button class="plain" disabled={inviting.isBusy}>
            {inviting.isBusy ? 'Inviting…' : 'Create the invitation'}
          </button>
        </>
      ) : (
        <>
          <p role="status">
            Send this link to {invited.email}. It works once, and is shown only now.
          </p>
          <Snippet text={invited.link} what="the invitation's link" />
        </>
      )}
    </Form>
  )
}
