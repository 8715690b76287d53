import { ApiKeyStateValues, ModeValues } from '../../../../generated/client-values.ts'
import { bodyOf, GET, type Paths, type Schemas } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { usePages } from '../../data/pages.ts'
import { addressOf, chosenIn } from '../../data/place.ts'
import { accountQuery, mayAdminister, sessionLoaded, signedIn } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import {
  ChoiceFilter,
  ClearFilters,
  isFilteredBy,
  TextFilter,
  type Choice,
} from '../../elements/filters.tsx'
import { KeyState } from '../../elements/key-state.tsx'
import { Money } from '../../elements/money.tsx'
import { More } from '../../elements/more.tsx'
import { Sketch } from '../../elements/sketch.tsx'
import { orderInPlace, sortedBy } from '../../elements/sorted-column.tsx'
import { numbers, Table } from '../../elements/table.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'

type ApiKey = Schemas['ApiKey']
type Query = NonNullable<Paths['/api/keys']['get']['parameters']['query']>

const filters = ['name', 'created_by', 'mode', 'state'] as const satisfies readonly (keyof Query)[]
const labels = { name: 'Name', created_by: 'Owner', mode: 'Mode', state: 'State' } as const
/** Maximum length of a page. */
const pageMax = 100

/** The keys that match the filters in the address, newest first. */
export function KeyList() {
  const keys = usePages(`keys ${JSON.stringify(chosenIn<Query>(filters))}`, (page, signal) => {
    const query = { ...accountQuery(), ...chosenIn<Query>(filters), kind: 'key', ...page } as const
    return bodyOf(GET('/api/keys', { params: { query }, signal }))
  })
  const members = useLoad(`owners of keys ${mayAdminister.value}`, async (signal) => {
    const query = { ...accountQuery(), limit: pageMax }
    // Other people see only their own keys.
    if (!mayAdminister.value) await sessionLoaded
    if (!mayAdminister.value) return { data: signedIn.value ? [signedIn.value.person] : [] }
    return bodyOf(GET('/api/members', { params: { query }, signal }))
  })
  const spending = useSpending()
  const owners = members.data?.data ?? []
  return (
    <>
      <div class="head">
        <h1>API keys</h1>
        <a class="button" href={addressOf('/keys/new')}>
          Create a key
        </a>
      </div>
      <Filters owners={owners} />
      <Failure error={members.error} again={members.again} />
      <Failure error={spending.error} again={spending.again} />
      <WhenLoaded loaded={keys} what="Loading the keys">
        {(all) => (
          <Keys
            keys={all}
            spending={spending.data}
            nameOf={(id) =>
              owners.find((one) => one.id === id)?.name ?? (members.data && 'no member')
            }
          />
        )}
      </WhenLoaded>
      <More more={keys.more} />
    </>
  )
}

/** What live keys have cost in the last 30 days, the most expensive first: one report for all keys. */
function useSpending() {
  const { created_by: member } = chosenIn<Query>(filters)
  return useLoad(`spending by key ${member}`, (signal) => {
    const report = { group_by: ['key'], order_by: 'cost', limit: pageMax } as const
    const query = { ...accountQuery(), ...report, group_by: [...report.group_by], member }
    return bodyOf(GET('/api/usage', { params: { query }, signal }))
  })
}

function Filters({ owners }: { owners: readonly Pick<Schemas['Member'], 'id' | 'name'>[] }) {
  const choices: Record<string, readonly Choice[]> = {
    created_by: owners.map(({ id, name }) => [id, name]),
    mode: ModeValues.map((mode) => [mode, mode]),
    state: ApiKeyStateValues.map((state) => [state, state]),
  }
  return (
    <div class="filters" role="group" aria-label="Filters">
      {filters
        .filter((name) => name !== 'created_by' || mayAdminister.value)
        .map((name) => (
          <div key={name} class={isFilteredBy([name]) ? 'filter set' : 'filter'}>
            {choices[name] === undefined ? (
              <TextFilter name={name} label={labels[name]} />
            ) : (
              <ChoiceFilter all="all" name={name} label={labels[name]} choices={choices[name]} />
            )}
          </div>
        ))}
      <ClearFilters names={filters} />
    </div>
  )
}

const columns = () => [
  'Name',
  'State',
  sortedBy('spent', 'Spent in 30 days', { class: 'number', isDownFirst: true }),
  numbers('Budget left'),
  'Models',
  'Owner',
  'Last used',
]

type KeysProps = {
  keys: readonly ApiKey[]
  spending: Spending
  /** The name of a member; undefined while it is not known. */
  nameOf: (id: string) => string | undefined
}

function Keys({ keys, spending, nameOf }: KeysProps) {
  if (keys.length === 0) return isFilteredBy(filters) ? <NoneFound /> : <NoneYet />
  return (
    <div class="card">
      <Table label="API keys" class="stacked" columns={columns()} opens>
        {sorted(keys, spending).map((key) => (
          <tr key={key.id}>
            <td class="first">
              <a href={addressOf(`/keys/${key.id}`)}>{key.name}</a>
              <div class="hint whole">
                <code>{key.hint}</code>
                {key.mode === 'test' && ' test'}
              </div>
            </td>
            <td>
              <State apiKey={key} />
            </td>
            <td class="number beside">
              <Spent apiKey={key} spending={spending} />
            </td>
            <td class="number minor">
              <BudgetLeft budget={key.budget} />
            </td>
            <td class="minor">
              <Models models={key.models} />
            </td>
            <td class="minor">
              {key.created_by === null ? (
                <span class="quiet" title="It was created by a command.">
                  –
                </span>
              ) : (
                nameOf(key.created_by)
              )}
            </td>
            <td class="at-end whole">
              <Time at={key.last_used_at} never="never used" />
            </td>
          </tr>
        ))}
      </Table>
    </div>
  )
}

function State({ apiKey }: { apiKey: ApiKey }) {
  const { state, replaced_by: successor } = apiKey
  return (
    <>
      <KeyState state={state} />
      {successor !== null && state === 'active' && (
        <div class="hint">
          ends <Time at={apiKey.expires_at} />, replaced by{' '}
          <a href={addressOf(`/keys/${successor}`)}>its successor</a>
        </div>
      )}
    </>
  )
}

type Spending = Schemas['UsageReport'] | undefined

/** What a key cost, or at most cost if it is not among those of the report. */
function spentOn({ id, mode }: ApiKey, spending: Spending) {
  if (mode === 'test' || spending === undefined) return undefined
  const found = spending.data.find(({ key }) => key === id)
  const isAtMost = found === undefined && spending.has_more
  const usd = (isAtMost ? spending.data.at(-1) : found)?.sums.cost.usd ?? '0'
  return { usd, isAtMost }
}

/** The loaded keys in the order of the address. */
function sorted(keys: readonly ApiKey[], spending: Spending): readonly ApiKey[] {
  const { column, isDown } = orderInPlace()
  if (column !== 'spent') return keys
  const usdOf = (key: ApiKey) => Number(spentOn(key, spending)?.usd ?? 0)
  return keys.toSorted((one, other) => (usdOf(one) - usdOf(other)) * (isDown ? -1 : 1))
}

type SpentProps = { apiKey: ApiKey; spending: KeysProps['spending'] }

function Spent({ apiKey, spending }: SpentProps) {
  const spent = spentOn(apiKey, spending)
  if (spent === undefined) return <span class="quiet">{apiKey.mode === 'test' ? 'free' : '–'}</span>
  return (
    <>
      {spent.isAtMost && 'at most '}
      <Money usd={spent.usd} isShort />
    </>
  )
}

function BudgetLeft({ budget }: Pick<ApiKey, 'budget'>) {
  if (budget === null) return <span class="quiet">no budget</span>
  return (
    <>
      <Money usd={budget.left.usd} /> of <Money usd={budget.amount.usd} />
    </>
  )
}

/** Number of models that a row names. */
const modelsNamed = 2

function Models({ models }: Pick<ApiKey, 'models'>) {
  if (models === null) return <>all</>
  const others = models.length - modelsNamed
  return (
    <span title={models.join(', ')}>
      {models.slice(0, modelsNamed).join(', ')}
      {others > 0 && ` and ${others} more`}
    </span>
  )
}

function NoneFound() {
  return (
    <div class="card empty">
      <h2>No key matches these filters</h2>
      <p>Remove a filter, or search for another name.</p>
    </div>
  )
}

function NoneYet() {
  return (
    <div class="card empty">
      <Sketch of="rows" />
      <h2>No keys yet</h2>
      <p>Programs call the gateway with a key. A test key calls the sandbox, and costs nothing.</p>
    </div>
  )
}
