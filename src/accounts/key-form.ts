import type { components } from '../../generated/types.ts'
import { budgetForm, limitsForm, type BudgetForm } from '../core/limits.ts'
import type { Scope } from '../core/caller.ts'
import type { ApiKeysTable } from '../storage/tables.ts'
import { allowanceOf, tagRows } from './allowance.ts'

type ApiKey = components['schemas']['ApiKey']

/** The settings of a key that its creator chooses. */
type KeySettings = Pick<
  ApiKey,
  'name' | 'mode' | 'cassette' | 'scopes' | 'models' | 'allowed_addresses' | 'limits' | 'expires_at'
> & { budget: BudgetForm | null; tag_budgets: { tag: string; budget: BudgetForm | null }[] }

/** The properties of a key that its row lacks. */
type KeyStatus = {
  /** Unix time in milliseconds. */
  nowMs: number
  /** The last use, if it is not stored yet. */
  usedAtMs: number | undefined
} & Pick<ApiKey, 'budget' | 'tag_budgets'>

/** A key in the contract's form, without its secret. */
export function keyForm(row: ApiKeysTable, { nowMs, usedAtMs, ...budgets }: KeyStatus): ApiKey {
  return {
    id: row.id,
    object: 'api_key',
    kind: row.kind,
    account_id: row.account_id,
    ...keySettings(row),
    ...budgets,
    hint: row.hint,
    state: stateOf(row, nowMs),
    created_at: timeText(row.created_at),
    revoked_at: timeForm(row.revoked_at),
    last_used_at: timeForm(usedAtMs ?? row.last_used_at),
    replaced_by: row.replaced_by,
    created_by: row.created_by,
    bound_to: row.kind === 'connection' ? row.bound_to : null,
    client: clientForm(row),
  }
}

/** A client that the account created is named like its key. */
function clientForm(row: ApiKeysTable): ApiKey['client'] {
  const { client_id: id, client_name: name, client_redirect_host: host } = row
  return id === null ? null : { id, name: name ?? row.name, redirect_host: host }
}

/** The settings of a key, without its secret. */
export function keySettings(row: ApiKeysTable): KeySettings {
  const { limits, budget } = allowanceOf(row)
  return {
    name: row.name,
    mode: row.mode,
    cassette: row.cassette,
    scopes: scopesIn(row),
    models: listIn(row.allowed_models),
    allowed_addresses: listIn(row.allowed_addresses),
    limits: limitsForm(limits),
    budget: budgetForm(budget),
    tag_budgets: tagRows(row).map((one) => ({
      tag: one.tag,
      budget: budgetForm(allowanceOf(one).budget),
    })),
    expires_at: timeForm(row.expires_at),
  }
}

/** The scopes of a key. */
export function scopesIn({ scopes }: Pick<ApiKeysTable, 'scopes'>): Scope[] {
  // `createKeys` writes this column as a list of scopes.
  return JSON.parse(scopes) as Scope[]
}

/** Parses a column that holds a list as JSON; null for a missing list. */
export function listIn(column: string | null): string[] | null {
  return column === null ? null : (JSON.parse(column) as string[])
}

/** A Unix time in milliseconds as ISO 8601 text. */
export function timeText(atMs: number): string {
  return new Date(atMs).toISOString()
}

/** A time that may be missing as ISO 8601 text. */
export function timeForm(atMs: number | null): string | null {
  return atMs === null ? null : timeText(atMs)
}

function stateOf(row: ApiKeysTable, nowMs: number): ApiKey['state'] {
  if (row.revoked_at !== null) return 'revoked'
  return row.expires_at === null || row.expires_at > nowMs ? 'active' : 'expired'
}
