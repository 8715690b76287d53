import { useState } from 'preact/hooks'
import { bodyOf, GET, PATCH, type Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useAct, useLoad } from '../../data/load.ts'
import { accountQuery, isOperator, look, membership } from '../../data/session.ts'
import { limitFields } from '../../elements/allowance.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Form } from '../../elements/form.tsx'
import { Gauge } from '../../elements/gauge.tsx'
import { NameField } from '../../elements/name-field.tsx'
import { Said, useSaid } from '../../elements/said.tsx'
import { Waiting } from '../../elements/waiting.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { Allowance } from './allowance.tsx'
import { CacheState } from './cache.tsx'
import { Prompts } from './prompts.tsx'

type Account = Schemas['Account']

/** Name, limits, budget and kept prompts of the account, and the response cache. */
export function AccountSettings() {
  const id = membership.value?.account_id
  return (
    <>
      {id === undefined ? <Waiting what="Loading the account" /> : <OneAccount id={id} />}
      <CacheState />
    </>
  )
}

function OneAccount({ id }: { id: string }) {
  const loaded = useLoad(`account ${id}`, (signal) =>
    bodyOf(GET('/api/accounts/{id}', { params: { path: { id }, query: accountQuery() }, signal })),
  )
  return (
    <WhenLoaded loaded={loaded} what="Loading the account">
      {(account) => (
        <>
          <Name account={account} />
          <Spending account={account} onChanged={loaded.again} />
          <Prompts account={account} onChanged={loaded.again} />
        </>
      )}
    </WhenLoaded>
  )
}

function Name({ account: { id, name } }: { account: Account }) {
  const [said, say] = useSaid()
  const renaming = useAct(async (form: FormData) => {
    say(undefined)
    const params = { path: { id }, query: accountQuery() }
    const body = { name: textsOf(form)['name'] ?? '' }
    const renamed = await bodyOf(PATCH('/api/accounts/{id}', { params, body }))
    await look()
    say(`The account is now called ${renamed.name}.`)
  })
  return (
    <Form class="card" send={renaming.run}>
      <h2>Name</h2>
      <Said said={said} />
      <Failure error={renaming.error} />
      <NameField label="Name of the account" name={name} />
      <p class="hint">
        Its id is <code>{id}</code>.
      </p>
      <p>
        <button disabled={renaming.isBusy}>Save the name</button>
      </p>
    </Form>
  )
}

function Spending({ account, onChanged }: { account: Account; onChanged: () => void }) {
  const { budget, limits, default_limits: defaults } = account
  const [isChanging, setChanging] = useState(false)
  const [said, say] = useSaid()
  return (
    <section class="card">
      <div class="head">
        <h2>Budget and limits</h2>
        {isOperator.value && !isChanging && (
          <button type="button" class="plain small" onClick={() => setChanging(true)}>
            Change
          </button>
        )}
      </div>
      <Said said={said} />
      {isChanging ? (
        <Allowance
          account={account}
          onEnd={(text) => {
            setChanging(false)
            say(text)
            if (text !== undefined) onChanged()
          }}
        />
      ) : (
        <>
          {budget === null ? (
            <p>The account has no budget. Only the budgets of its keys limit spending.</p>
          ) : (
            <Gauge budget={budget} />
          )}
          <dl class="facts limits">
            {limitFields.map(({ name, label }) => (
              <div key={name}>
                <dt>{label}</dt>
                <dd>{limitText(limits[name], defaults?.[name])}</dd>
              </div>
            ))}
          </dl>
          <p class="hint">
            {isOperator.value
              ? 'All keys of the account share these limits.'
              : 'All keys of the account share these limits. An operator of the gateway can change them.'}
          </p>
        </>
      )}
    </section>
  )
}

/** Describes the effective limit and its source. */
function limitText(own: number | null, byDefault: number | null | undefined): string {
  const limit = own ?? byDefault
  if (limit === null || limit === undefined) return 'no limit'
  const text = limit.toLocaleString('en-US')
  return own === null ? `${text}, the default of the gateway` : `${text}, set for this account`
}
