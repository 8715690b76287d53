import type { components } from '../../../generated/types.ts'
import { GatewayError } from '../../core/error.ts'
import type { ApiKeysTable } from '../../storage/tables.ts'

/** Throws `invalid_value` for what cannot be changed of what a client has. */
export function assertChangeable(
  { kind, bound_to: key }: ApiKeysTable,
  change: components['schemas']['ApiKeyChange'],
): void {
  if (kind === 'key') return
  const [param] = key === null ? [] : Object.keys(change).filter((setting) => setting !== 'name')
  if (param !== undefined) {
    const text = `'${param}' is that of the key ${key}, with which the client was connected. Change it there.`
    throw new GatewayError('invalid_value', text, { param })
  }
  const more = change.scopes?.find((scope) => scope !== 'inference')
  if (more === undefined) return
  const text = `'scopes' must be 'inference' alone for a client, not '${more}'. Create an API key to administrate.`
  throw new GatewayError('invalid_value', text, { param: 'scopes' })
}

/** Throws `key_not_active` for what has no secret of its own. */
export function assertRotatable({ kind }: ApiKeysTable): void {
  if (kind === 'key') return
  const text = 'A client has this, and there is no key to replace. Revoke it, and connect it again.'
  throw new GatewayError('key_not_active', text)
}
