import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { periodTexts } from '../../data/budget-periods.ts'
import { textsOf } from '../../data/form.ts'
import { shortCount } from '../../data/money.ts'
import { usePages } from '../../data/pages.ts'
import { addressOf, place, setQuery } from '../../data/place.ts'
import { Form } from '../../elements/form.tsx'
import { Money } from '../../elements/money.tsx'
import { More } from '../../elements/more.tsx'
import { numbers, Table } from '../../elements/table.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'

type Account = Schemas['Account']

const pageRows = 50

/** All accounts or the search results, newest first. */
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
    <Form
      class="row accounts-find"
      role="search"
      aria-label="Accounts"
      send={(form) => setQuery({ q: textsOf(form)['q']?.trim() })}
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
    </Form>
  )
}

function Rows({ search }: { search: string }) {
  const accounts = usePages('accounts', (page, signal) => {
    const searched = search === '' ? {} : { search }
    const query = { include_activity: true, limit: pageRows, ...searched, ...page }
    return bodyOf(GET('/api/accounts', { params: { query }, signal }))
  })
  return (
    <>
      <WhenLoaded loaded={accounts} what="Loading the accounts">
        {(all) => <Accounts accounts={all} />}
      </WhenLoaded>
      <More more={accounts.more} />
    </>
  )
}

const columns = [
  'Name',
  numbers('This month'),
  numbers('Calls'),
  'Budget',
  numbers('Members'),
  numbers('Keys'),
  'Created',
]

function Accounts({ accounts }: { accounts: readonly Account[] }) {
  if (accounts.length === 0) {
    return (
      <div class="card empty">
        <h2>No account matches</h2>
        <p>Search for another part of its name, or for its complete id.</p>
      </div>
    )
  }
  return (
    <div class="card">
      <Table label="Accounts" class="accounts stacked" columns={columns} opens>
        {accounts.map((account) => (
          <Row key={account.id} account={account} />
        ))}
      </Table>
    </div>
  )
}

function Row({ account }: { account: Account }) {
  const { activity, budget } = account
  return (
    <tr>
      <td class="first">
        <a href={addressOf(`/accounts/${account.id}`)}>{account.name}</a>{' '}
        {account.is_operator && <span class="state">runs the gateway</span>}
      </td>
      <td class="number beside">
        <Money usd={activity?.spent.usd} />
      </td>
      <td
        class="number"
        data-head="Calls"
        title={`${shortCount(activity?.failed_calls ?? 0)} of them failed`}
      >
        {shortCount(activity?.calls ?? 0)}
      </td>
      <td class="at-end" data-head="Budget">
        {budget === null ? (
          <span class="quiet">none</span>
        ) : (
          <>
            <Money usd={budget.amount.usd} /> {periodTexts[budget.period]}
          </>
        )}
      </td>
      <td class="number minor">{shortCount(activity?.members ?? 0)}</td>
      <td class="number minor">{shortCount(activity?.keys ?? 0)}</td>
      <td class="minor">
        <Time at={account.created_at} />
      </td>
    </tr>
  )
}
