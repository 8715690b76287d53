import type { Kysely } from 'kysely'
import type { components } from '../../generated/types.ts'
import { budgetForm, limitsForm, type BudgetForm } from '../core/limits.ts'
import type { Administrator, Caller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { Page, PageRequest } from '../core/page.ts'
import type { Announce } from '../peers/announcement.ts'
import type { Store } from '../storage/store.ts'
import type { AccountsTable, Tables } from '../storage/tables.ts'
import { allowanceColumns, allowanceOf, noAllowance } from './allowance.ts'
import { changedValues, type Audit } from './audit.ts'
import { readStatesOf } from './budget-states.ts'
import { newId } from './id.ts'
import { timeText } from './key-form.ts'
import { isInName, listPage } from './list-page.ts'
import { roleIn } from './memberships.ts'
import { scopesLeft } from './role.ts'

type Schemas = components['schemas']
type Account = Schemas['Account']

export type Accounts = {
  /** The account of those who run the gateway; `created` says that there was none before. */
  first(): Promise<{ id: string; created: boolean }>
  /**
   * The key as it administers now, for its account or another one: whoever operates the gateway may for
   * any. Throws `not_found`, also where there is such an account.
   */
  actFor(caller: Caller, accountId: string): Promise<Caller>
  /** All accounts for an operator, else their own; `search` is a part of a name, or an id. */
  list(by: Administrator, page: PageRequest, search?: string): Promise<Page<Account>>
  /** Throws `not_found` for what is not there, or not theirs; `update` too. */
  retrieve(by: Administrator, id: string): Promise<Account>
  /** Throws `insufficient_scope` unless an operator asks. */
  create(by: Administrator, asked: Schemas['NewAccount']): Promise<Account>
  /** Throws `insufficient_scope` for limits and a budget, unless an operator asks. */
  update(by: Administrator, id: string, change: Schemas['AccountChange']): Promise<Account>
}

type Options = {
  store: Pick<Store, 'db'>
  audit: Pick<Audit, 'write'>
  announce: Announce
  clock: () => number
}

export function createAccounts(options: Options): Accounts {
  const { store, audit, announce, clock } = options
  const { db } = store
  const forms = async (rows: readonly AccountsTable[]) => {
    const budgets = await readStatesOf(db, rows, clock())
    return rows.map((row, index) => accountForm(row, budgets[index] ?? null))
  }
  const form = async (row: AccountsTable) => (await forms([row]))[0]!
  return {
    // In a transaction: two processes at their first start must agree on one account.
    first: () =>
      db.transaction().execute(async (transaction) => {
        const known = await transaction
          .selectFrom('accounts')
          .select('id')
          // The clock may have been set back since.
          .orderBy('is_operator', 'desc')
          .orderBy('created_at')
          .limit(1)
          .executeTakeFirst()
        if (known !== undefined) return { id: known.id, created: false }
        const id = newId('acc')
        const row = { id, name: 'default', created_at: clock(), is_operator: 1, ...noAllowance }
        await transaction.insertInto('accounts').values(row).execute()
        return { id, created: true }
      }),
    actFor: async (caller, accountId) => {
      const now = await asMakerMay(db, caller)
      if (accountId === caller.accountId) return now
      const mayAct = now.isOperator && now.scopes.includes('admin')
      if (!mayAct) throw noAccount('account_id')
      await find(db, accountId, 'account_id')
      return { ...now, accountId }
    },
    list: async (by, page, search) => {
      const tell = (row: AccountsTable) => row
      const rows = await listPage(select(db, by, search), page, { time: 'created_at', tell })
      return { ...rows, data: await forms(rows.data) }
    },
    retrieve: async (by, id) => {
      assertTheirs(by, id)
      return form(await find(db, id))
    },
    create: async (by, asked) => {
      const id = newId('acc')
      const none = { created_at: clock(), is_operator: 0, ...noAllowance }
      const row = { id, name: asked.name, ...none, ...allowanceColumns(asked) }
      await db.transaction().execute(async (transaction) => {
        await transaction.insertInto('accounts').values(row).execute()
        const act = { account_id: id, action: 'account.create', target: id } as const
        await audit.write(transaction, by, { ...act, after: settingsOf(row) })
      })
      return form(row)
    },
    update: async (by, id, change) => {
      const row = await update(options, by, { id, change })
      announce({ kind: 'account_changed', accountId: id })
      return form(row)
    },
  }
}

function select(
  db: Kysely<Tables>,
  { accountId, isOperator }: Administrator,
  search: string | undefined,
) {
  let rows = db.selectFrom('accounts').selectAll()
  if (!isOperator) rows = rows.where('id', '=', accountId)
  if (search === undefined) return rows
  return rows.where((one) => one.or([one('id', '=', search.trim()), isInName(search)]))
}

async function find(db: Kysely<Tables>, id: string, param = 'id'): Promise<AccountsTable> {
  const row = await db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst()
  if (row === undefined) throw noAccount(param)
  return row
}

/** Read for each act, on every replica: a key administers as long as the person who made it may. */
async function asMakerMay(db: Kysely<Tables>, caller: Caller): Promise<Caller> {
  const { makerId, accountId, scopes } = caller
  if (makerId === undefined) return caller
  const left = scopesLeft(scopes, await roleIn(db, makerId, accountId))
  return left.length === scopes.length ? caller : { ...caller, scopes: left, isOperator: false }
}

function assertTheirs({ accountId, isOperator }: Administrator, id: string): void {
  if (!isOperator && id !== accountId) throw noAccount('id')
}

function forOperators(param: string): GatewayError {
  const text = `'${param}' of an account is changed by those who run the gateway: ask them, or use an admin key of the first account.`
  return new GatewayError('insufficient_scope', text, { param })
}

/** There is none, or none that the caller may know of. */
function noAccount(param: string): GatewayError {
  const text = 'There is no such account. GET /api/accounts lists yours.'
  return new GatewayError('not_found', text, { param })
}

function update(
  { store, audit }: Options,
  by: Administrator,
  { id, change }: { id: string; change: Schemas['AccountChange'] },
): Promise<AccountsTable> {
  assertTheirs(by, id)
  const { name } = change
  const reserved = (['limits', 'budget'] as const).find((member) => change[member] !== undefined)
  if (reserved !== undefined && !by.isOperator) {
    throw forOperators(reserved)
  }
  const columns = { ...(name === undefined ? {} : { name }), ...allowanceColumns(change) }
  return store.db.transaction().execute(async (transaction) => {
    const row = await find(transaction, id)
    const changed = { ...row, ...columns }
    const values = changedValues(settingsOf(row), settingsOf(changed))
    if (values === undefined) return row
    await transaction.updateTable('accounts').set(columns).where('id', '=', id).execute()
    const act = { account_id: id, action: 'account.update', target: id } as const
    await audit.write(transaction, by, { ...act, ...values })
    return changed
  })
}

function accountForm(row: AccountsTable, budget: Account['budget']): Account {
  return {
    id: row.id,
    object: 'account',
    ...settingsOf(row),
    budget,
    created_at: timeText(row.created_at),
    is_operator: row.is_operator === 1,
  }
}

function settingsOf(
  row: AccountsTable,
): Pick<Account, 'name' | 'limits'> & { budget: BudgetForm | null } {
  const { limits, budget } = allowanceOf(row)
  return { name: row.name, limits: limitsForm(limits), budget: budgetForm(budget) }
}
