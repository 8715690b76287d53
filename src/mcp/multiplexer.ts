import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import type { CallContext } from '../core/caller.ts'
import { errorMessage, rpcCodes, type MessageId, type PrintedJson } from './json-rpc.ts'
import type { RequestMessage } from './messages.ts'
import { createClientIds } from './client-ids.ts'
import type { PrintedResult } from './content.ts'
import type { Era } from './eras/era.ts'
import type { Client } from './sessions.ts'

/** Receives the messages that belong to one request. */
type Line = {
  /** A notification before the answer. */
  notify(message: PrintedJson): void
  /** The answer; undefined when the request was cancelled and gets none. */
  end(reply: PrintedJson | undefined): void
}
/** A request that waits for its turn or is being answered. */
type OpenRequest = {
  era: Era
  client: Client
  message: RequestMessage
  context: CallContext
  line: Line
}

/**
 * Carries the requests of all clients over one SDK server, which sees them as those of one client.
 * Each request gets a unique number in place of its id, by which its answer is delivered.
 */
export type Multiplexer = {
  transport: Transport
  find(number: MessageId): OpenRequest
  /** Takes a request on, so that it can be cancelled from now on; returns its number. */
  add(request: OpenRequest): number
  /** Passes a request to the server, unless it was cancelled meanwhile. */
  start(number: number): void
  /** Cancels a request; its line ends at once, or when its handler has ended. */
  cancel(number: number): void
  /** How many requests of a key wait or are being answered. */
  countOf(keyId: string): number
  /**
   * Cancels the client's open requests with this id; of those without a session the latest alone,
   * since others of the same key may have used it too. False if there is none.
   */
  cancelByClient(client: Client, id: unknown): boolean
  /** Cancels all open requests of a session. */
  cancelAll(client: Client): void
  /** To be called when a handler has ended; without an answer the line ends with undefined. */
  settle(number: MessageId): void
  /** To be called when the server rejects the message that `start` is passing to it. */
  refuse(): void
}

export function createMultiplexer(): Multiplexer {
  const open = new Map<MessageId, OpenRequest>()
  const byClient = createClientIds()
  const waiting = new Set<number>()
  const settled: MessageId[] = []
  let last = 0
  let sending: number | undefined

  const close = (number: MessageId, reply: PrintedJson | undefined) => {
    const request = open.get(number)
    if (request === undefined) return
    open.delete(number)
    byClient.remove(request, number)
    request.line.end(reply)
  }

  const transport = transportOf(open, close)

  const cancel = (requestId: number) => {
    if (waiting.delete(requestId)) return close(requestId, undefined)
    if (!open.has(requestId)) return
    const params = { requestId }
    transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
  }

  return {
    transport,
    find: (number) => open.get(number)!,
    add: (request) => {
      const number = ++last
      open.set(number, request)
      waiting.add(number)
      byClient.add(request, number)
      return number
    },
    start: (number) => {
      if (!waiting.delete(number)) return
      const { method, params } = open.get(number)!.message
      sending = number
      transport.onmessage?.({ jsonrpc: '2.0', id: number, method, params })
      sending = undefined
    },
    countOf: byClient.countOf,
    cancel,
    cancelByClient: (client, id) => {
      const numbers = byClient.meant(client, id)
      for (const number of numbers) cancel(number)
      return numbers.length > 0
    },
    cancelAll: (client) => {
      for (const number of byClient.all(client)) cancel(number)
    },
    // Deferred: the SDK sends a handler's answer before the next turn of the event loop.
    settle: (number) => {
      if (settled.push(number) > 1) return
      setImmediate(() => {
        for (const one of settled.splice(0)) close(one, undefined)
      })
    },
    refuse: () => {
      if (sending === undefined) return
      const { id } = open.get(sending)!.message
      const error = errorMessage(id, rpcCodes.invalidParams, "The 'params' are malformed.")
      close(sending, [JSON.stringify(error)])
    },
  }
}

/** Delivers what the server sends to the request that it belongs to. */
function transportOf(
  open: ReadonlyMap<MessageId, OpenRequest>,
  close: (number: MessageId, reply: PrintedJson) => void,
): Transport {
  return {
    start: async () => undefined,
    close: async () => undefined,
    send: async (message, options) => {
      if ('method' in message) {
        const { relatedRequestId } = options ?? {}
        if (relatedRequestId === undefined) return
        open.get(relatedRequestId)?.line.notify([JSON.stringify(message)])
      } else if (message.id !== undefined) {
        const request = open.get(message.id)
        if (request !== undefined) close(message.id, printReply(message, request))
      }
    },
  }
}

type Reply = Exclude<JSONRPCMessage, { method: string }>

function printReply(message: Reply, { era, message: { id } }: OpenRequest): PrintedJson {
  if (!('result' in message)) return [JSON.stringify({ ...message, id })]
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
  // The only results are those of the one handler (server.ts).
  return [head, ...era.print(message.result as PrintedResult), '}']
}
