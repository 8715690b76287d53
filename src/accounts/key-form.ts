import type { components } from '../../generated/types.ts'
import { budgetForm, limitsForm, type BudgetForm } from '../core/limits.ts'
import type { Scope } from '../core/caller.ts'
import type { ApiKeysTable } from '../storage/tables.ts'
import { allowanceOf } from './allowance.ts'

type ApiKey = components['schemas']['ApiKey']

/** What of a key can be chosen. */
type KeySettings = Pick<
  ApiKey,
  'name' | 'mode' | 'scopes' | 'models' | 'allowed_addresses' | 'limits' | 'expires_at'
> & { budget: BudgetForm | null }

/** What is not in the row of a key. */
type KeyNews = {
  /** Unix time in milliseconds. */
  nowMs: number
  /** When it was last used, where that is not written yet. */
  usedAtMs: number | undefined
  /** What has become of its budget. */
  budget: ApiKey['budget']
}

/** A key in the contract's form, without its secret. */
export function keyForm(row: ApiKeysTable, { nowMs, usedAtMs, budget }: KeyNews): ApiKey {
  return {
    id: row.id,
    object: 'api_key',
    kind: row.kind,
    account_id: row.account_id,
    ...keySettings(row),
    budget,
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

/** A client of the account has the name of its key. */
function clientForm(row: ApiKeysTable): ApiKey['client'] {
  const { client_id: id, client_name: name, client_redirect_host: host } = row
  return id === null ? null : { id, name: name ?? row.name, redirect_host: host }
}

/** What was chosen for a key; no secret is in it. */
export function keySettings(row: ApiKeysTable): KeySettings {
  const { limits, budget } = allowanceOf(row)
  return {
    name: row.name,
    mode: row.mode,
    // The lists are written by `createKeys`.
    scopes: JSON.parse(row.scopes) as Scope[],
    models: listIn(row.allowed_models),
    allowed_addresses: listIn(row.allowed_addresses),
    limits: limitsForm(limits),
    budget: budgetForm(budget),
    expires_at: timeForm(row.expires_at),
  }
}

/** A list that a column holds as JSON; null where there is none. */
export function listIn(column: string | null): string[] | null {
  return column === null ? null : (JSON.parse(column) as string[])
}

/** A Unix time in milliseconds as text. */
export function timeText(atMs: number): string {
  return new Date(atMs).toISOString()
}

function timeForm(atMs: number | null): string | null {
  return atMs === null ? null : timeText(atMs)
}

function stateOf(row: ApiKeysTable, nowMs: number): ApiKey['state'] {
  if (row.revoked_at !== null) return 'revoked'
  return row.expires_at === null || row.expires_at > nowMs ? 'active' : 'expired'
}
