import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { Result } from '@modelcontextprotocol/sdk/types.js'
import { contract } from '../../generated/contract.ts'
import type { CallTool } from './call-tool.ts'
import { JsonRpcError, rpcCodes } from './json-rpc.ts'
import type { LogLevels } from './log-levels.ts'
import type { Params } from './messages.ts'
import type { Multiplexer, OpenRequest } from './multiplexer.ts'
import type { ProgressNotification } from './progress.ts'
import { negotiate, protocolVersion } from './revision.ts'
import type { BoundTool } from './tool.ts'

type Options = {
  multiplexer: Multiplexer
  tools: ReadonlyMap<string, BoundTool>
  callTool: CallTool
  levels: LogLevels
}
type Notify = (notification: ProgressNotification) => void
type Method = (
  request: OpenRequest,
  signal: AbortSignal,
  notify: Notify,
) => Promise<Result> | Result

const { title, version } = contract.info
const serverInfo = { name: 'model-access-gateway', title, version }
const capabilities = { tools: { listChanged: true }, logging: {} }
const instructions =
  'Language and image models of many providers. list-models and list-image-models show what there is, ' +
  'with prices; chat, generate-image and generate-image-preview use it.'

/** What a plain GET says about the tool server. */
export const toolServerCard = {
  name: serverInfo.name,
  version,
  description: instructions,
  protocolVersion,
  capabilities,
}

/** Connects the SDK's server to the multiplexer, with our answers to each method. */
export async function connectServer(options: Options): Promise<void> {
  const { multiplexer } = options
  const methods = methodsOf(options)
  // oxlint-disable-next-line typescript/no-deprecated -- it stays for advanced use, which this is
  const server = new Server(serverInfo, { capabilities })
  // One place answers all methods: the SDK's own answers are per connection, of which there are many here.
  for (const method of ['initialize', 'ping', 'logging/setLevel']) {
    server.removeRequestHandler(method)
  }
  // Handlers without a schema are not checked again: reading a result of megabytes takes milliseconds.
  server.fallbackRequestHandler = async ({ method }, { requestId, signal, sendNotification }) => {
    const notify: Notify = (notification) => {
      // It fails when the caller has left.
      sendNotification(notification).catch(() => undefined)
    }
    try {
      const answer = methods.get(method)
      if (answer === undefined) {
        throw new JsonRpcError(
          rpcCodes.methodNotFound,
          `There is no method '${method.slice(0, 200)}'.`,
        )
      }
      return await answer(multiplexer.find(requestId), signal, notify)
    } finally {
      multiplexer.settle(requestId)
    }
  }
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has this one listener
  server.onerror = () => multiplexer.refuse()
  await server.connect(multiplexer.transport)
}

function methodsOf({ tools, callTool, levels }: Options): ReadonlyMap<string, Method> {
  const descriptions = [...tools.values()].map(({ description }) => description)
  const toolList: Result = { printed: [JSON.stringify({ tools: descriptions })] }
  return new Map<string, Method>([
    ['initialize', ({ message }) => initialize(message.params)],
    ['ping', () => ({})],
    ['tools/list', ({ message }) => onlyPage(message.params, toolList)],
    [
      'tools/call',
      ({ message, context }, signal, notify) =>
        callTool(message.params, { ...context, signal }, notify),
    ],
    [
      'logging/setLevel',
      ({ message, context }) => {
        if (levels.set(context.caller.keyId, message.params['level'])) return {}
        throw new JsonRpcError(rpcCodes.invalidParams, "'level' must be a log level, such as info.")
      },
    ],
  ])
}

function initialize({ protocolVersion: asked }: Params): Result {
  return { protocolVersion: negotiate(asked), capabilities, serverInfo, instructions }
}

/** The list has one page, so that no cursor is ours. */
function onlyPage({ cursor }: Params, page: Result): Result {
  if (cursor === undefined) return page
  throw new JsonRpcError(
    rpcCodes.invalidParams,
    "There is no such 'cursor'; the list has one page.",
  )
}
