import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import type { CallContext } from '../core/caller.ts'
import { errorMessage, rpcCodes, type MessageId, type Pieces } from './json-rpc.ts'
import type { RequestMessage } from './messages.ts'

/** Where what belongs to one request goes. */
export type Line = {
  /** A notification on the way to the answer. */
  notify(message: Pieces): void
  /** The answer; undefined when it was cancelled, and nobody waits for one. */
  end(reply: Pieces | undefined): void
}
/** A request while it is being answered. */
export type OpenRequest = { message: RequestMessage; context: CallContext; line: Line }

/**
 * Carries the requests of all clients over one SDK server, which sees them as those of one client:
 * each gets a number of its own, and what comes back is led by it.
 */
export type Multiplexer = {
  transport: Transport
  find(number: MessageId): OpenRequest
  /** Hands a request to the server, and gives its number. */
  send(request: OpenRequest): number
  /** Ends the request of this number; its line ends when the work has. */
  cancel(number: number): void
  /** Ends the youngest request that a caller gave this id. */
  cancelByClient(keyId: string, id: unknown): void
  /** The work for a request is over; if nothing was answered, nothing will be. */
  settle(number: MessageId): void
  /** The server refuses what it was just handed. */
  refuse(): void
}

export function createMultiplexer(): Multiplexer {
  const open = new Map<MessageId, OpenRequest>()
  const byClient = createClientIds()
  const settled: MessageId[] = []
  let count = 0
  let sending: number | undefined

  const close = (number: MessageId, reply: Pieces | undefined) => {
    const request = open.get(number)
    if (request === undefined) return
    open.delete(number)
    byClient.remove(request, number)
    request.line.end(reply)
  }

  const transport: Transport = {
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

  const cancel = (requestId: number) => {
    if (!open.has(requestId)) return
    const params = { requestId }
    transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
  }

  return {
    transport,
    find: (number) => open.get(number)!,
    send: (request) => {
      const { method, params } = request.message
      const number = ++count
      open.set(number, request)
      byClient.add(request, number)
      sending = number
      transport.onmessage?.({ jsonrpc: '2.0', id: number, method, params })
      sending = undefined
      return number
    },
    cancel,
    cancelByClient: (keyId, id) => {
      const number = byClient.youngest(keyId, id)
      if (number !== undefined) cancel(number)
    },
    // An answer on its way is here before the next turn of the event loop.
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

/** The numbers behind the ids that clients gave; several may give the same. */
function createClientIds() {
  const numbers = new Map<string, number[]>()
  const keyOf = (keyId: string, id: unknown) => `${keyId} ${typeof id} ${String(id)}`
  const keyOfRequest = ({ context, message }: OpenRequest) =>
    keyOf(context.caller.keyId, message.id)
  return {
    add: (request: OpenRequest, number: number): void => {
      const key = keyOfRequest(request)
      const known = numbers.get(key)
      if (known === undefined) numbers.set(key, [number])
      else known.push(number)
    },
    remove: (request: OpenRequest, number: MessageId): void => {
      const key = keyOfRequest(request)
      const rest = numbers.get(key)?.filter((one) => one !== number) ?? []
      if (rest.length === 0) numbers.delete(key)
      else numbers.set(key, rest)
    },
    /** Ids are of two kinds: a number and its digits as text are not the same. */
    youngest: (keyId: string, id: unknown): number | undefined =>
      numbers.get(keyOf(keyId, id))?.at(-1),
  }
}

type Reply = Exclude<JSONRPCMessage, { method: string }>

function printReply(message: Reply, id: MessageId | null): Pieces {
  if (!('result' in message)) return [JSON.stringify({ ...message, id })]
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
  const { printed } = message.result as { printed?: Pieces }
  return [head, ...(printed ?? [JSON.stringify(message.result)]), '}']
}
