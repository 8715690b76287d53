import type { components } from '../../generated/types.ts'
import type { Actor } from '../core/caller.ts'
import { actorOf, type Operation } from '../http/operation.ts'

/** Reads the settings again. Rejects with a GatewayError; then nothing has changed. */
export type Reload = (by: Actor) => Promise<components['schemas']['Reload']>

/** POST /api/reload */
export function reloadSettings(reload: Reload): Operation<'reloadSettings'> {
  return async (call) => ({ status: 200, json: await reload(actorOf(call)) })
}
