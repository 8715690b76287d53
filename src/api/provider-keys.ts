import type { components } from '../../generated/types.ts'
import type { Actor } from '../core/caller.ts'
import type { Operations } from '../http/contract-router.ts'
import { actorOf } from '../http/operation.ts'
import { createdSecret, ok } from './answers.ts'

type Schemas = components['schemas']

/** Adds, removes and tests the stored keys of providers. The methods reject with a GatewayError. */
export type ProviderKeyActs = {
  create(
    by: Actor,
    providerId: string,
    key: Schemas['NewProviderKey'],
  ): Promise<Schemas['ProviderKey']>
  remove(by: Actor, providerId: string, id: string): Promise<void>
  test(providerId: string, trial: Schemas['ProviderKeyTrial']): Promise<Schemas['ProviderKeyTest']>
}

/** Dependencies of the operations on providers' keys. */
export type ProviderKeyParts = { providerKeys: ProviderKeyActs }

/** The handlers of providers' keys. */
export function providerKeyOperations({ providerKeys }: ProviderKeyParts) {
  return {
    createProviderKey: async (call) => {
      const { provider_id: providerId } = call.path
      return createdSecret(await providerKeys.create(actorOf(call), providerId, call.body))
    },
    deleteProviderKey: async (call) => {
      const { provider_id: providerId, id } = call.path
      await providerKeys.remove(actorOf(call), providerId, id)
      return { status: 204 }
    },
    testProviderKey: async ({ path, body }) => ok(await providerKeys.test(path.provider_id, body)),
  } satisfies Partial<Operations>
}
