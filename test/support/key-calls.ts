import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { digestOf } from '../../src/accounts/api-key.ts'
import type { TestGateway } from './gateway.ts'

export type MadeKey = components['schemas']['CreatedApiKey']

/** Calls the operations of API keys with a key. */
export function keyCalls(gateway: TestGateway) {
  const make = (key: string, settings: object = {}) =>
    gateway.post('/api/keys', { name: 'made', mode: 'test', ...settings }, { key })
  const rotate = (key: string, id: string, overlapMinutes = 5) =>
    gateway.post(`/api/keys/${id}/rotate`, { overlap_minutes: overlapMinutes }, { key })
  return {
    make,
    made: async (key: string, settings: object = {}) => madeIn(await make(key, settings)),
    change: (key: string, id: string, settings: object) =>
      gateway.post(`/api/keys/${id}`, settings, { key, method: 'PATCH' }),
    rotate,
    rotated: async (key: string, id: string, overlapMinutes = 5) =>
      madeIn(await rotate(key, id, overlapMinutes)),
    revoke: (key: string, id: string) =>
      gateway.fetch(`/api/keys/${id}`, { key, method: 'DELETE' }),
    /** The row of a key, found by its secret. */
    rowOf: (key: string) =>
      gateway.db
        .selectFrom('api_keys')
        .selectAll()
        .where('digest', '=', digestOf(key))
        .executeTakeFirstOrThrow(),
  }
}

async function madeIn(answer: Response): Promise<MadeKey> {
  const text = await answer.text()
  expect(answer.status, text).to.equal(201)
  return JSON.parse(text) as MadeKey
}
