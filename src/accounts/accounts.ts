import type { Kysely } from 'kysely'
import type { components } from '../../generated/types.ts'
import { budgetForm, limitsForm, type BudgetForm } from '../core/limits.ts'
import type { Administrator, Caller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { PageRequest } from '../core/page.ts'
import type { AccountsTable, Tables } from '../storage/tables.ts'
import { allowanceColumns, allowanceOf, noAllowance } from './allowance.ts'
import { changedValues, type ChangeParts } from './audit.ts'
import { readStatesOf } from './budget-states.ts'
import { newId } from './id.ts'
import { timeText } from './key-form.ts'
import { isInName, listPage } from './list-page.ts'
import { roleIn } from './memberships.ts'
import { remainingScopes } from './role.ts'

type Schemas = components['schemas']
type Account = Schemas['Account']

type Options = ChangeParts

const newAccount = { keeps_prompts: 0, ...noAllowance }

export type Accounts = ReturnType<typeof createAccounts>

export function createAccounts(options: Options) {
  const { store, audit, announce, clock } = options
  const { db } = store
  const forms = async (rows: readonly AccountsTable[]) => {
    const budgets = await readStatesOf(db, rows, clock())
    return rows.map((row, index) => accountForm(row, budgets[index] ?? null))
  }
  const form = async (row: AccountsTable) => (await forms([row]))[0]!
  return {
    // The transaction makes two processes that start for the first time agree on one account.
    /** The operators' account, which is created on the first start; `created` reports whether it was. */
    first: () =>
      db.transaction().execute(async (transaction) => {
        const existing = await transaction
          .selectFrom('accounts')
          .select('id')
          // Not sorted by age alone: if the clock was set back, the operators' account may not be the oldest.
          .orderBy('is_operator', 'desc')
          .orderBy('created_at')
          .limit(1)
          .executeTakeFirst()
        if (existing !== undefined) return { id: existing.id, created: false }
        const id = newId('acc')
        const row = { id, name: 'default', created_at: clock(), is_operator: 1, ...newAccount }
        await transaction.insertInto('accounts').values(row).execute()
        return { id, created: true }
      }),
    /**
     * The caller with the scopes that its key has now, acting for an account. Operators may act for any
     * account. Throws `not_found` for a missing account, and for accounts of others.
     */
    actFor: async (caller: Caller, accountId: string) => {
      const now = await withCurrentScopes(db, caller)
      if (accountId === caller.accountId) return now
      const mayAct = now.isOperator && now.scopes.includes('admin')
      if (!mayAct) throw noAccount('account_id')
      await find(db, accountId, 'account_id')
      return { ...now, accountId }
    },
    /** All accounts for an operator, otherwise the caller's own; `search` is an id or part of a name. */
    list: async (by: Administrator, page: PageRequest, search?: string) => {
      const toItem = (row: AccountsTable) => row
      const rows = await listPage(select(db, by, search), page, { time: 'created_at', toItem })
      return { ...rows, data: await forms(rows.data) }
    },
    /** Throws `not_found` for a missing account and for accounts of others; so does `update`. */
    retrieve: async (by: Administrator, id: string) => {
      assertTheirs(by, id)
      return form(await find(db, id))
    },
    /** Throws `insufficient_scope` unless the caller is an operator. */
    create: async (by: Administrator, account: Schemas['NewAccount']) => {
      const id = newId('acc')
      const none = { created_at: clock(), is_operator: 0, ...newAccount }
      const row = { id, name: account.name, ...none, ...allowanceColumns(account) }
      await db.transaction().execute(async (transaction) => {
        await transaction.insertInto('accounts').values(row).execute()
        const act = { account_id: id, action: 'account.create', target: id } as const
        await audit.write(transaction, by, { ...act, after: settingsOf(row) })
      })
      return form(row)
    },
    /** Throws `insufficient_scope` when a caller who is not an operator changes limits or the budget. */
    update: async (by: Administrator, id: string, change: Schemas['AccountChange']) => {
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

/** Reads the creator's role for each change: a key administers only while its creator may administer. */
async function withCurrentScopes(db: Kysely<Tables>, caller: Caller): Promise<Caller> {
  const { creatorId, accountId, scopes } = caller
  if (creatorId === undefined) return caller
  const left = remainingScopes(scopes, await roleIn(db, creatorId, accountId))
  return left.length === scopes.length ? caller : { ...caller, scopes: left, isOperator: false }
}

function assertTheirs({ accountId, isOperator }: Administrator, id: string): void {
  if (!isOperator && id !== accountId) throw noAccount('id')
}

/** The same error for a missing account and for one that the caller may not see. */
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
  const { name, keeps_prompts: keepsPrompts } = change
  const reserved = (['limits', 'budget'] as const).find((member) => change[member] !== undefined)
  if (reserved !== undefined && !by.isOperator) {
    const text = `Only operators of the gateway may change '${reserved}' of an account. Ask an operator, or use an admin key of the first account.`
    throw new GatewayError('insufficient_scope', text, { param: reserved })
  }
  const columns = {
    ...(name === undefined ? {} : { name }),
    ...(keepsPrompts === undefined ? {} : { keeps_prompts: Number(keepsPrompts) }),
    ...allowanceColumns(change),
  }
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
): Pick<Account, 'name' | 'keeps_prompts' | 'limits'> & { budget: BudgetForm | null } {
  const { limits, budget } = allowanceOf(row)
  return {
    name: row.name,
    keeps_prompts: row.keeps_prompts === 1,
    limits: limitsForm(limits),
    budget: budgetForm(budget),
  }
}
