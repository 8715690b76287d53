import type { components } from '../../generated/types.ts'
import { GatewayError } from '../core/error.ts'
import { isDay } from '../core/time.ts'
import { readNetwork } from '../core/networks.ts'
import type { ApiKeysTable } from '../storage/tables.ts'
import { allowanceColumns, noAllowance, tagBudgetColumn } from './allowance.ts'

type Change = components['schemas']['ApiKeyChange']

/** Resolves model names to ids. Throws `invalid_value` for an unknown name. */
export type ModelIds = (names: readonly string[], param?: string) => string[]

/** The columns of a new key that calls models, without restrictions, an end, a creator or a client. */
export const plainKey = {
  allowed_models: null,
  scopes: JSON.stringify(['inference']),
  allowed_addresses: null,
  ...noAllowance,
  expires_at: null,
  revoked_at: null,
  replaced_by: null,
  counts_with: null,
  last_used_at: null,
  created_by: null,
  client_id: null,
  client_name: null,
  client_redirect_host: null,
  bound_to: null,
  cassette: null,
  played: null,
  played_calls: null,
  tag_budgets: null,
} satisfies Partial<ApiKeysTable>

/**
 * The columns for the requested settings of a key; omitted settings are omitted from the columns too.
 * Throws `invalid_value` for an invalid address, model or time, and for a repeated tag.
 */
export function keyColumns(
  change: Change,
  { modelIds, nowMs }: { modelIds: ModelIds; nowMs: number },
): Partial<ApiKeysTable> {
  const { name, scopes, models, allowed_addresses: addresses, expires_at: end } = change
  return {
    ...(name === undefined ? {} : { name }),
    ...(scopes === undefined ? {} : { scopes: JSON.stringify([...new Set(scopes)]) }),
    ...(models === undefined ? {} : { allowed_models: listColumn(models, modelIds) }),
    ...(addresses === undefined ? {} : { allowed_addresses: listColumn(addresses, networks) }),
    ...(end === undefined ? {} : { expires_at: end === null ? null : timeOf(end, nowMs) }),
    ...allowanceColumns(change),
    ...(change.tag_budgets === undefined ? {} : tagBudgetColumn(change.tag_budgets)),
  }
}

/** Throws `invalid_value` for a setting that cannot change for this kind of key, `key_not_active` for a state's key. */
export function assertChangeable(row: ApiKeysTable, change: Change): void {
  assertOfNoState(row)
  const { kind, bound_to: key } = row
  if (kind === 'key') return
  if (kind === 'session') return assertChangeableOfSession(change)
  const [param] = key === null ? [] : Object.keys(change).filter((setting) => setting !== 'name')
  if (param !== undefined) {
    const text = `The connection takes '${param}' from the key ${key}. Change that key instead.`
    throw new GatewayError('invalid_value', text, { param })
  }
  assertForKind(kind, change)
}

/** Limits and budget can change; the next key of the same person inherits them. */
function assertChangeableOfSession(change: Change): void {
  const param = (['scopes', 'expires_at'] as const).find((setting) => setting in change)
  if (param === undefined) return
  const text = `'${param}' of a session's key cannot be changed. DELETE ends the key; remove the member to prevent new ones.`
  throw new GatewayError('invalid_value', text, { param })
}

/** Throws `invalid_value` for scopes that a key of this kind cannot have. */
export function assertForKind(kind: ApiKeysTable['kind'], { scopes = [] }: Change): void {
  const more = kind === 'key' ? undefined : scopes.find((scope) => scope !== 'inference')
  if (more === undefined) return
  const text = `The only scope of a ${kind} is 'inference', not '${more}'. Create an API key for administration.`
  throw new GatewayError('invalid_value', text, { param: 'scopes' })
}

/** Throws `key_not_active` for a kind of key whose secret an administrator cannot replace. */
export function assertRotatable(row: ApiKeysTable): void {
  assertOfNoState(row)
  const { kind } = row
  if (kind === 'connection') {
    const text =
      'A connection has no secret to replace: its client renews the tokens itself. DELETE ends the connection.'
    throw new GatewayError('key_not_active', text)
  }
  if (kind === 'session') {
    const text =
      'Only its session can renew a session key, with POST /api/sessions/current/key. DELETE ends the key.'
    throw new GatewayError('key_not_active', text)
  }
}

/** The key of a provider state ends with it, and is what its name says. */
function assertOfNoState({ played }: ApiKeysTable): void {
  if (played === null) return
  const text =
    'The key of a provider state is neither changed nor replaced. POST /v1/sandbox/states sets up another one.'
  throw new GatewayError('key_not_active', text)
}

function listColumn(list: readonly string[] | null, read: ModelIds): string | null {
  return list === null ? null : JSON.stringify(read(list))
}

function networks(texts: readonly string[]): string[] {
  const plain = texts.map((text) => text.trim().toLowerCase())
  for (const [index, text] of plain.entries()) {
    if (readNetwork(text) !== undefined) continue
    const param = `allowed_addresses[${index}]`
    const notation = JSON.stringify(texts[index])
    throw new GatewayError(
      'invalid_value',
      `'${param}' must be an IP address or network, not ${notation}. For example: 203.0.113.7, 10.0.0.0/8 or 2001:db8::/32.`,
      { param },
    )
  }
  return [...new Set(plain)]
}

function timeOf(text: string, nowMs: number): number {
  const param = 'expires_at'
  const date = text.slice(0, 'yyyy-mm-dd'.length)
  const at = isDay(date) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at)) {
    throw new GatewayError('invalid_value', `'${param}' is not a valid time: ${text}.`, { param })
  }
  if (at > nowMs) return at
  const remedy = 'Send a future time. To end the key now, DELETE it.'
  throw new GatewayError('invalid_value', `'${param}' is in the past: ${text}. ${remedy}`, {
    param,
  })
}
