import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import type { CallContext } from '../core/caller.ts'
import { errorMessage, rpcCodes, type MessageId, type PrintedJson } from './json-rpc.ts'
import type { RequestMessage } from './messages.ts'

/** Receives the messages that belong to one request. */
type Line = {
  /** A notification before the answer. */
  notify(message: PrintedJson): void
  /** The answer; undefined when the request was cancelled and gets none. */
  end(reply: PrintedJson | undefined): void
}
/** A request that waits for its turn or is being answered. */
type OpenRequest = { message: RequestMessage; context: CallContext; line: Line }

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
  /** Cancels the latest open request with this client's id that came with this key; false if there is none. */
  cancelByClient(keyId: string, id: unknown): boolean
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
    cancelByClient: (keyId, id) => {
      const number = byClient.latest(keyId, id)
      if (number === undefined) return false
      cancel(number)
      return true
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
        close(message.id, printReply(message, open.get(message.id)?.message.id ?? null))
      }
    },
  }
}

/** Request numbers by the ids that clients gave; several open requests may have the same id. */
function createClientIds() {
  const numbers = new Map<string, number[]>()
  const counts = new Map<string, number>()
  const count = ({ context }: OpenRequest, change: number) => {
    const { keyId } = context.caller
    const now = (counts.get(keyId) ?? 0) + change
    if (now === 0) counts.delete(keyId)
    else counts.set(keyId, now)
  }
  // With the type, since the ids 1 and '1' are different.
  const keyOf = (keyId: string, id: unknown) => `${keyId} ${typeof id} ${String(id)}`
  const keyOfRequest = ({ context, message }: OpenRequest) =>
    keyOf(context.caller.keyId, message.id)
  return {
    add: (request: OpenRequest, number: number): void => {
      const key = keyOfRequest(request)
      const known = numbers.get(key)
      if (known === undefined) numbers.set(key, [number])
      else known.push(number)
      count(request, 1)
    },
    remove: (request: OpenRequest, number: MessageId): void => {
      const key = keyOfRequest(request)
      const rest = numbers.get(key)?.filter((one) => one !== number) ?? []
      if (rest.length === 0) numbers.delete(key)
      else numbers.set(key, rest)
      count(request, -1)
    },
    countOf: (keyId: string): number => counts.get(keyId) ?? 0,
    latest: (keyId: string, id: unknown): number | undefined =>
      numbers.get(keyOf(keyId, id))?.at(-1),
  }
}

type Reply = Exclude<JSONRPCMessage, { method: string }>

function printReply(message: Reply, id: MessageId | null): PrintedJson {
  if (!('result' in message)) return [JSON.stringify({ ...message, id })]
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
  // `printed` is a member of the tools' results (PrintedResult) and of nothing else.
  const { printed } = message.result as { printed?: PrintedJson }
  return [head, ...(printed ?? [JSON.stringify(message.result)]), '}']
}
