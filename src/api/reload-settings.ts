import type { components } from '../../generated/types.ts'
import type { Actor } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { actorOf, type Operation } from '../http/operation.ts'

/** Reads the settings again. Rejects with a GatewayError; then nothing has changed. */
export type Reload = (by: Actor) => Promise<components['schemas']['Reload']>

/** POST /api/reload */
export function reloadSettings(reload: Reload): Operation<'reloadSettings'> {
  return async (call) => {
    if (!call.caller.isOperator) {
      const text =
        'Only those who run the gateway may reload its settings. ' +
        'Use a key of its first account with the scope admin.'
      throw new GatewayError('insufficient_scope', text)
    }
    return { status: 200, json: await reload(actorOf(call)) }
  }
}
