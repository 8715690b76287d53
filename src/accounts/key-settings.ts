import type { components } from '../../generated/types.ts'
import { GatewayError } from '../core/error.ts'
import { isDay } from '../core/time.ts'
import { readNetwork } from '../core/networks.ts'
import type { ApiKeysTable } from '../storage/tables.ts'
import { allowanceColumns } from './allowance.ts'

type Change = components['schemas']['ApiKeyChange']

/** The ids of models by any of their names. Throws `invalid_value`. */
export type ModelIds = (names: readonly string[]) => string[]

/**
 * The columns that hold what is asked for a key; what is left out has none. Throws `invalid_value`
 * for an address, a model or a time that is none.
 */
export function keyColumns(
  asked: Change,
  { modelIds, nowMs }: { modelIds: ModelIds; nowMs: number },
): Partial<ApiKeysTable> {
  const { name, scopes, models, allowed_addresses: addresses, expires_at: end } = asked
  return {
    ...(name === undefined ? {} : { name }),
    ...(scopes === undefined ? {} : { scopes: JSON.stringify([...new Set(scopes)]) }),
    ...(models === undefined ? {} : { allowed_models: listColumn(models, modelIds) }),
    ...(addresses === undefined ? {} : { allowed_addresses: listColumn(addresses, networks) }),
    ...(end === undefined ? {} : { expires_at: end === null ? null : timeOf(end, nowMs) }),
    ...allowanceColumns(asked),
  }
}

function listColumn(list: readonly string[] | null, read: ModelIds): string | null {
  return list === null ? null : JSON.stringify(read(list))
}

function networks(texts: readonly string[]): string[] {
  const plain = texts.map((text) => text.trim().toLowerCase())
  for (const [index, text] of plain.entries()) {
    if (readNetwork(text) !== undefined) continue
    const param = `allowed_addresses[${index}]`
    const given = JSON.stringify(texts[index])
    throw new GatewayError(
      'invalid_value',
      `'${param}' is no address and no network: ${given}. Send one such as 203.0.113.7, 10.0.0.0/8 or 2001:db8::/32.`,
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
    throw new GatewayError('invalid_value', `'${param}' is no time that there is: ${text}.`, {
      param,
    })
  }
  if (at > nowMs) return at
  const remedy = 'Send one to come. DELETE the key to end it now.'
  throw new GatewayError('invalid_value', `'${param}' is over: ${text}. ${remedy}`, { param })
}
