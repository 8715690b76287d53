import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { callerLeft } from '../core/deadline.ts'
import type { CallTool } from './call-tool.ts'
import { JsonRpcError, rpcCodes } from './json-rpc.ts'
import { capabilities, serverInfo } from './methods.ts'
import type { Multiplexer } from './multiplexer.ts'
import type { ProgressNotification } from './progress.ts'

type Options = { multiplexer: Multiplexer; callTool: CallTool }

/**
 * Connects the SDK's server to the multiplexer. It is what work goes through: it starts calls of
 * tools, carries their progress and cancels them.
 */
export async function connectServer({ multiplexer, callTool }: Options): Promise<void> {
  // oxlint-disable-next-line typescript/no-deprecated -- it stays for advanced use, which this is
  const server = new Server(serverInfo, { capabilities })
  // The SDK's own answers are per connection, of which there are many here.
  for (const method of ['initialize', 'ping', 'logging/setLevel']) {
    server.removeRequestHandler(method)
  }
  // A handler without a schema is not checked again: reading a result of megabytes takes milliseconds.
  server.fallbackRequestHandler = async ({ method }, { requestId, signal, sendNotification }) => {
    const notify = (notification: ProgressNotification) => {
      // It fails when the caller has left.
      sendNotification(notification).catch(() => undefined)
    }
    try {
      if (method !== 'tools/call') throw new JsonRpcError(rpcCodes.methodNotFound, 'No such work.')
      const { message, context } = multiplexer.find(requestId)
      return await callTool(message.params, { ...context, ending: endingWith(signal) }, notify)
    } finally {
      multiplexer.settle(requestId)
    }
  }
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has this one listener
  server.onerror = () => multiplexer.refuse()
  await server.connect(multiplexer.transport)
}

/** Each request ends by itself, be it one of several that came together. */
function endingWith(signal: AbortSignal): AbortController {
  const ending = new AbortController()
  const leave = () => ending.abort(callerLeft())
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  return ending
}
