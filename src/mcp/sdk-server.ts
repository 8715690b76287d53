import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'
import type { CallContext } from '../core/caller.ts'
import { Ending } from '../core/resilience/ending.ts'
import { KeyEnded } from '../core/failure.ts'
import type { CallTool } from './call-tool.ts'
import type { Era } from './eras/era.ts'
import { errorMessage, rpcCodes, type PrintedJson, type RequestMessage } from './json-rpc.ts'
import type { ToolNotification } from './progress.ts'
import { capabilities, serverInfo } from './protocol.ts'
import type { PrintedResult } from './tool.ts'

export type ToolRequest = {
  message: RequestMessage
  context: CallContext
  era: Era
  /** Sends a message before the response. */
  notify: (message: PrintedJson) => void
  /** Aborts with the reason when the call is cancelled. */
  cancelled: AbortSignal
}

// The SDK creates a validator for each server unless it gets one, which takes 0.1 ms. No server validates with it.
const jsonSchemaValidator = new AjvJsonSchemaValidator()

/**
 * Runs a tool call in a separate SDK server, which takes 8 µs and 4 kB. Returns the response;
 * undefined if the call was cancelled, once its handler has ended.
 */
export async function callInServer(
  { message, context, era, notify, cancelled }: ToolRequest,
  callTool: CallTool,
): Promise<PrintedJson | undefined> {
  if (cancelled.aborted) return undefined
  const { id, method, params } = message
  const { promise: response, resolve } = Promise.withResolvers<PrintedJson | undefined>()
  const transport: Transport = {
    start: async () => undefined,
    close: async () => undefined,
    send: async (sent) => {
      if ('method' in sent) notify([JSON.stringify(sent)])
      else resolve(printResponse(sent, message, era))
    },
  }
  // Closes the server, which then sends no more messages.
  const close = () => transport.onclose?.()
  // oxlint-disable-next-line typescript/no-deprecated -- deprecated except for advanced use
  const server = new Server(serverInfo, { capabilities, jsonSchemaValidator })
  // For the fallback handler the SDK skips validating results, which takes 1.2 ms per MiB.
  server.fallbackRequestHandler = async (_request, { sendNotification }) => {
    const send = (notification: ToolNotification) => {
      // Sending rejects after the server is closed.
      sendNotification(notification).catch(() => undefined)
    }
    const ending = endingWith(cancelled)
    try {
      return await callTool(
        params,
        { ...context, ending },
        { notify: send, logsInAnswer: era.logsInAnswer },
      )
    } finally {
      cancelled.removeEventListener('abort', close)
      if (cancelled.aborted) resolve(undefined)
    }
  }
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no addEventListener
  server.onerror = () => {
    const error = errorMessage(id, rpcCodes.invalidParams, "The 'params' are malformed.")
    resolve([JSON.stringify(error)])
  }
  await server.connect(transport)
  cancelled.addEventListener('abort', close)
  // Without `params`, whose members of unsupported features, such as `task`, the SDK refuses.
  transport.onmessage?.({ jsonrpc: '2.0', id, method })
  return response
}

/** Creates an `Ending` for each call, so that the calls of a batch are cancelled separately. */
function endingWith(cancelled: AbortSignal): Ending {
  const ending = new Ending()
  const endCall = () => {
    const { reason } = cancelled
    if (reason instanceof KeyEnded) ending.abort(reason)
    else ending.leave(reason)
  }
  if (cancelled.aborted) endCall()
  else cancelled.addEventListener('abort', endCall, { once: true })
  return ending
}

type Response = Exclude<JSONRPCMessage, { method: string }>

function printResponse(response: Response, { id }: RequestMessage, era: Era): PrintedJson {
  if (!('result' in response)) return [JSON.stringify(response)]
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
  // All results come from `fallbackRequestHandler`.
  return [head, ...era.print(response.result as PrintedResult), '}']
}
