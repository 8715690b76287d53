import { callerCancelled } from '../core/resilience/deadline.ts'
import type { MessageId } from './json-rpc.ts'
import type { Client } from './sessions.ts'

export type OpenCall = { client: Client; id: MessageId; cancel(reason: Error): void }

/** The queued and running tool calls, for cancellation and the limit of each key. */
export type OpenCalls = {
  add(call: OpenCall): void
  remove(call: OpenCall): void
  countOf(keyId: string): number
  /**
   * Cancels the client's calls with this id; without a session only the latest call, since other
   * clients of the key may use the same id. Returns false if no call was found.
   */
  cancel(client: Client, id: unknown): boolean
  cancelAll(session: Client): void
}

export function createOpenCalls(): OpenCalls {
  const byKey = new Map<string, Set<OpenCall>>()
  const callsOf = ({ keyId, sessionId }: Client) =>
    [...(byKey.get(keyId) ?? [])].filter(({ client }) => client.sessionId === sessionId)
  return {
    add: (call) => {
      const { keyId } = call.client
      byKey.set(keyId, (byKey.get(keyId) ?? new Set()).add(call))
    },
    remove: (call) => {
      const { keyId } = call.client
      const calls = byKey.get(keyId)
      calls?.delete(call)
      if (calls?.size === 0) byKey.delete(keyId)
    },
    countOf: (keyId) => byKey.get(keyId)?.size ?? 0,
    cancel: (client, id) => {
      const found = callsOf(client).filter((call) => call.id === id)
      const cancelled = client.sessionId === undefined ? found.slice(-1) : found
      for (const call of cancelled) call.cancel(callerCancelled())
      return cancelled.length > 0
    },
    cancelAll: (session) => {
      for (const call of callsOf(session)) call.cancel(callerCancelled())
    },
  }
}
