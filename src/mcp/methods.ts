import { contractInfo } from '../../generated/operations.ts'
import { nearName } from '../core/near-name.ts'
import type { Elsewhere } from './elsewhere.ts'
import { errorMessage, JsonRpcError, rpcCodes } from './json-rpc.ts'
import type { LogLevels } from './log-levels.ts'
import type { Params, RequestMessage } from './messages.ts'
import { negotiate, protocolVersion } from './revision.ts'
import type { Client } from './sessions.ts'
import type { ToolsInForce } from './tool.ts'

const { title, version } = contractInfo
export const serverInfo = { name: 'model-access-gateway', title, version }
export const capabilities = { tools: { listChanged: true }, logging: {} }
const instructions =
  'Language and image models of many providers. list-models and list-image-models show what ' +
  'there is, with prices; chat, generate-image and generate-image-preview use it.'

/** The answer to a GET /mcp that does not ask for an event stream. */
export const toolServerCard = {
  name: serverInfo.name,
  version,
  description: instructions,
  protocolVersion,
  capabilities,
}

/** Answers every request but `tools/call` at once, with the response as JSON text. */
export type AnswerAtOnce = (request: RequestMessage, client: Client) => string

type Method = (params: Params, client: Client) => string
type Options = {
  inForce: () => Pick<ToolsInForce, 'list'>
  levels: LogLevels
  elsewhere: Pick<Elsewhere, 'setLevel'>
}

/** What is not offered; clients that ask for it all the same would fail at an error. */
const emptyLists: readonly [string, Method][] = [
  ['prompts/list', (params) => onlyPage(params, '{"prompts":[]}')],
  ['resources/list', (params) => onlyPage(params, '{"resources":[]}')],
  ['resources/templates/list', (params) => onlyPage(params, '{"resourceTemplates":[]}')],
]

export function createAnswerAtOnce({ inForce, levels, elsewhere }: Options): AnswerAtOnce {
  const methods = new Map<string, Method>([
    ['initialize', initialize],
    ['ping', () => '{}'],
    ['tools/list', (params) => onlyPage(params, inForce().list)],
    ...emptyLists,
    ['logging/setLevel', ({ level }, client) => setLevel({ levels, elsewhere }, client, level)],
  ])
  return ({ id, method, params }, client) => {
    try {
      const answer = methods.get(method)
      if (answer === undefined) throw noMethod(method, ['tools/call', ...methods.keys()])
      return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${answer(params, client)}}`
    } catch (error) {
      if (!(error instanceof JsonRpcError)) throw error
      return JSON.stringify(errorMessage(id, error.code, error.message))
    }
  }
}

function initialize({ protocolVersion: asked }: Params): string {
  const agreed = negotiate(asked)
  return JSON.stringify({ protocolVersion: agreed, capabilities, serverInfo, instructions })
}

/** The list has one page, so every cursor is invalid; some clients ask for the first with an empty one. */
function onlyPage({ cursor }: Params, page: string): string {
  if (cursor === undefined || cursor === '') return page
  throw new JsonRpcError(
    rpcCodes.invalidParams,
    "There is no such 'cursor'; the list has one page.",
  )
}

function setLevel(
  { levels, elsewhere }: Omit<Options, 'inForce'>,
  client: Client,
  level: unknown,
): string {
  if (levels.set(client, level)) {
    elsewhere.setLevel(client, level)
    return '{}'
  }
  throw new JsonRpcError(rpcCodes.invalidParams, "'level' must be a log level, such as info.")
}

function noMethod(name: string, names: readonly string[]): JsonRpcError {
  if (/^(prompts|resources|completion)\//.test(name)) {
    const text = `There is no method '${name.slice(0, 200)}': no prompts and no resources are offered here, only tools.`
    return new JsonRpcError(rpcCodes.methodNotFound, text)
  }
  const near = nearName(name, names)
  const remedy = near === undefined ? '' : ` Did you mean '${near}'?`
  const text = `There is no method '${name.slice(0, 200)}'.${remedy}`
  return new JsonRpcError(rpcCodes.methodNotFound, text)
}
