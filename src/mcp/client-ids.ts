import type { MessageId } from './json-rpc.ts'
import { nameOf, type Client } from './sessions.ts'

type Asked = { client: Client; message: { id: MessageId } }

/** Request numbers by the ids that clients gave; several open requests may have the same id. */
export function createClientIds() {
  const numbers = new Map<string, number[]>()
  const counts = new Map<string, number>()
  const count = ({ client: { keyId } }: Asked, change: number) => {
    const now = (counts.get(keyId) ?? 0) + change
    if (now === 0) counts.delete(keyId)
    else counts.set(keyId, now)
  }
  // With the type, since the ids 1 and '1' are different.
  const keyOf = (client: Client, id: unknown) => `${nameOf(client)} ${typeof id} ${String(id)}`
  const keyOfRequest = ({ client, message }: Asked) => keyOf(client, message.id)
  return {
    add: (request: Asked, number: number): void => {
      const key = keyOfRequest(request)
      const known = numbers.get(key)
      if (known === undefined) numbers.set(key, [number])
      else known.push(number)
      count(request, 1)
    },
    remove: (request: Asked, number: MessageId): void => {
      const key = keyOfRequest(request)
      const rest = numbers.get(key)?.filter((one) => one !== number) ?? []
      if (rest.length === 0) numbers.delete(key)
      else numbers.set(key, rest)
      count(request, -1)
    },
    countOf: (keyId: string): number => counts.get(keyId) ?? 0,
    /** Another client of the same key, without a session too, may have sent all but the latest. */
    meant: (client: Client, id: unknown): readonly number[] => {
      const found = numbers.get(keyOf(client, id)) ?? []
      return client.sessionId === undefined ? found.slice(-1) : found
    },
    all: (client: Client): number[] => {
      const start = `${nameOf(client)} `
      return [...numbers].flatMap(([key, found]) => (key.startsWith(start) ? found : []))
    },
  }
}
