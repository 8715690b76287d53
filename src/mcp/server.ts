import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { callerCancelled, callerLeft } from '../core/deadline.ts'
import { Ending } from '../core/ending.ts'
import { KeyEnded } from '../core/failure.ts'
import type { CallTool, ToolNotification } from './call-tool.ts'
import { JsonRpcError, rpcCodes } from './json-rpc.ts'
import { capabilities, serverInfo } from './server-card.ts'
import type { Multiplexer } from './multiplexer.ts'

type Options = { multiplexer: Multiplexer; callTool: CallTool }

/**
 * Connects an SDK server to the multiplexer. It starts tool calls, sends their progress and cancels
 * them; answer-at-once.ts answers all other requests.
 */
export async function connectServer({ multiplexer, callTool }: Options): Promise<void> {
  // oxlint-disable-next-line typescript/no-deprecated -- deprecated except for advanced use
  const server = new Server(serverInfo, { capabilities })
  // The SDK's handlers of these assume one client per connection.
  for (const method of ['initialize', 'ping', 'logging/setLevel']) {
    server.removeRequestHandler(method)
  }
  // For the fallback handler the SDK skips validating results, which takes 1.2 ms per MiB.
  server.fallbackRequestHandler = async ({ method }, { requestId, signal, sendNotification }) => {
    const notify = (notification: ToolNotification) => {
      // It rejects when the client has disconnected.
      sendNotification(notification).catch(() => undefined)
    }
    try {
      if (method !== 'tools/call') throw new JsonRpcError(rpcCodes.methodNotFound, 'Not supported.')
      const { message, context, era } = multiplexer.find(requestId)
      return await callTool(
        message.params,
        { ...context, ending: endingWith(signal, context.ending.signal) },
        { notify, logsInAnswer: era.logsInAnswer },
      )
    } finally {
      multiplexer.settle(requestId)
    }
  }
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no addEventListener
  server.onerror = () => multiplexer.refuse()
  await server.connect(multiplexer.transport)
}

/** One controller for each request, so that the requests of a batch are cancelled separately. */
function endingWith(signal: AbortSignal, ofPost: AbortSignal): Ending {
  const ending = new Ending()
  const leave = () => {
    if (ofPost.reason instanceof KeyEnded) ending.abort(ofPost.reason)
    else ending.leave(ofPost.aborted ? callerLeft() : callerCancelled())
  }
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  return ending
}
