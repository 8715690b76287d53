import { useState } from 'preact/hooks'
import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { useAct, useLoad } from '../../data/load.ts'
import { shortCount } from '../../data/money.ts'
import { addressOf, place, setQuery } from '../../data/place.ts'
import { Failure } from '../../elements/failure.tsx'
import { Money } from '../../elements/money.tsx'
import { Time } from '../../elements/time.tsx'
import { Waiting } from '../../elements/waiting.tsx'

type Account = Schemas['Account']

const pageRows = 50

const ask = (search: string, cursor?: string, signal?: AbortSignal) => {
  const query = {
    include_activity: true,
    limit: pageRows,
    ...(search === '' ? {} : { search }),
    ...(cursor === undefined ? {} : { cursor }),
  }
  return bodyOf(GET('/api/accounts', { params: { query }, ...(signal && { signal }) }))
}

/** All accounts, or those that a search finds; the newest first. */
export function AccountList() {
  const search = place.value.query.get('q')?.trim() ?? ''
  return (
    <>
      <div class="head">
        <h1>Accounts</h1>
        <a class="button" href={addressOf('/accounts/new')}>
          Create an account
        </a>
      </div>
      <Search search={search} />
      <Rows key={search} search={search} />
    </>
  )
}

function Search({ search }: { search: string }) {
  return (
    <form
      class="row accounts-find"
      role="search"
      aria-label="Accounts"
      onSubmit={(event) => {
        event.preventDefault()
        const given = new FormData(event.currentTarget).get('q')
        setQuery({ q: typeof given === 'string' ? given.trim() : '' })
      }}
    >
      <label class="hidden" for="find-account">
        Name or id
      </label>
      <input
        id="find-account"
        name="q"
        type="search"
        maxLength={100}
        defaultValue={search}
        placeholder="A part of a name, or an id"
        spellcheck={false}
      />
      <button class="plain">Search</button>
    </form>
  )
}

function Rows({ search }: { search: string }) {
  const accounts = useLoad('accounts', (signal) => ask(search, undefined, signal))
  const [more, setMore] = useState<readonly Account[]>([])
  const [cursor, setCursor] = useState<string | null>()
  const next = cursor === undefined ? accounts.data?.next_cursor : cursor
  const loading = useAct(async () => {
    const page = await ask(search, next ?? undefined)
    setMore([...more, ...page.data])
    setCursor(page.next_cursor)
  })
  return (
    <>
      <Failure error={accounts.error} again={accounts.again} />
      {accounts.data === undefined ? (
        accounts.isLoading && <Waiting what="Loading the accounts" />
      ) : (
        <Table accounts={[...accounts.data.data, ...more]} />
      )}
      <Failure error={loading.error} />
      {next && (
        <button
          type="button"
          class="plain"
          disabled={loading.isBusy}
          onClick={() => void loading.run()}
        >
          {loading.isBusy ? 'Loading…' : 'Show more'}
        </button>
      )}
    </>
  )
}

function Table({ accounts }: { accounts: readonly Account[] }) {
  if (accounts.length === 0) {
    return (
      <div class="card empty">
        <h2>No account is called that</h2>
        <p>Search for another part of its name, or for its whole id.</p>
      </div>
    )
  }
  return (
    <div class="card table" tabIndex={0} role="region" aria-label="Accounts">
      <table class="accounts">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" class="number">
              This month
            </th>
            <th scope="col" class="number">
              Calls
            </th>
            <th scope="col">Budget</th>
            <th scope="col" class="number">
              Members
            </th>
            <th scope="col" class="number">
              Keys
            </th>
            <th scope="col">Created</th>
          </tr>
        </thead>
        <tbody>
          {accounts.map((account) => (
            <Row key={account.id} account={account} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

const periods: Record<Schemas['BudgetPeriod'], string> = {
  day: 'a day',
  month: 'a month',
  total: 'in all',
}

function Row({ account }: { account: Account }) {
  const { activity, budget } = account
  return (
    <tr>
      <td>
        <a href={addressOf(`/accounts/${account.id}`)}>{account.name}</a>{' '}
        {account.is_operator && <span class="state">runs the gateway</span>}
      </td>
      <td class="number">
        <Money usd={activity?.spent.usd} />
      </td>
      <td class="number" title={`${shortCount(activity?.failed_calls ?? 0)} of them failed`}>
        {shortCount(activity?.calls ?? 0)}
      </td>
      <td>
        {budget === null ? (
          <span class="quiet">none</span>
        ) : (
          <>
            <Money usd={budget.amount.usd} /> {periods[budget.period]}
          </>
        )}
      </td>
      <td class="number">{shortCount(activity?.members ?? 0)}</td>
      <td class="number">{shortCount(activity?.keys ?? 0)}</td>
      <td>
        <Time at={account.created_at} />
      </td>
    </tr>
  )
}
