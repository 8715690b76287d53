import type { components } from '../../../generated/types.ts'
import { GatewayError } from '../../core/error.ts'
import type { ApiKeysTable } from '../../storage/tables.ts'

type Change = components['schemas']['ApiKeyChange']

/** Throws `invalid_value` for what cannot be changed of what a client has. */
export function assertChangeable({ kind, bound_to: key }: ApiKeysTable, change: Change): void {
  if (kind === 'key') return
  if (kind === 'session') return assertChangeableOfSession(change)
  const [param] = key === null ? [] : Object.keys(change).filter((setting) => setting !== 'name')
  if (param !== undefined) {
    const text = `'${param}' is that of the key ${key}, with which the client was connected. Change it there.`
    throw new GatewayError('invalid_value', text, { param })
  }
  assertForKind(kind, change)
}

/** What it may use and spend can be changed; who asks for it next gets the same. */
function assertChangeableOfSession(change: Change): void {
  const param = (['scopes', 'expires_at'] as const).find((setting) => setting in change)
  if (param === undefined) return
  const text = `'${param}' of a session's key cannot be changed. DELETE ends the key; removing the member keeps the person from getting another.`
  throw new GatewayError('invalid_value', text, { param })
}

/** Throws `invalid_value` for what a key of this kind cannot have. */
export function assertForKind(kind: ApiKeysTable['kind'], { scopes = [] }: Change): void {
  const more = kind === 'key' ? undefined : scopes.find((scope) => scope !== 'inference')
  if (more === undefined) return
  const text = `'scopes' must be 'inference' alone for a ${kind}, not '${more}'. Create an API key to administrate.`
  throw new GatewayError('invalid_value', text, { param: 'scopes' })
}

/** Throws `key_not_active` for what has no secret that an administrator could replace. */
export function assertRotatable({ kind }: ApiKeysTable): void {
  if (kind === 'connection') {
    const text =
      'A connection has no secret to replace: its client renews its tokens itself. DELETE ends it.'
    throw new GatewayError('key_not_active', text)
  }
  if (kind === 'session') {
    const text =
      "A session's key is renewed by its session alone, with POST /api/sessions/current/key. DELETE ends it."
    throw new GatewayError('key_not_active', text)
  }
}
