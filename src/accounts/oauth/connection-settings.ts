import type { components } from '../../../generated/types.ts'
import { GatewayError } from '../../core/error.ts'
import type { ApiKeysTable } from '../../storage/tables.ts'

type Change = components['schemas']['ApiKeyChange']

/** Throws `invalid_value` for what cannot be changed of what a client has. */
export function assertChangeable({ kind, bound_to: key }: ApiKeysTable, change: Change): void {
  if (kind === 'key') return
  const [param] = key === null ? [] : Object.keys(change).filter((setting) => setting !== 'name')
  if (param !== undefined) {
    const text = `'${param}' is that of the key ${key}, with which the client was connected. Change it there.`
    throw new GatewayError('invalid_value', text, { param })
  }
  assertForKind(kind, change)
}

/** Throws `invalid_value` for what a key of this kind cannot have. */
export function assertForKind(kind: ApiKeysTable['kind'], { scopes = [] }: Change): void {
  const more = kind === 'key' ? undefined : scopes.find((scope) => scope !== 'inference')
  if (more === undefined) return
  const text = `'scopes' must be 'inference' alone for a ${kind}, not '${more}'. Create an API key to administrate.`
  throw new GatewayError('invalid_value', text, { param: 'scopes' })
}

/** Throws `key_not_active` for what has no secret of its own. */
export function assertRotatable({ kind }: ApiKeysTable): void {
  if (kind !== 'connection') return
  const text =
    'A connection has no secret to replace: its client renews its tokens itself. DELETE ends it.'
  throw new GatewayError('key_not_active', text)
}
