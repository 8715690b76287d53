import { isMembers } from '../core/any-json.ts'
import { schemaChecks } from '../../generated/checks.js'
import type { CallContext } from '../core/caller.ts'
import { wasCancelled } from '../core/failure.ts'
import { noTexts } from '../core/image/image.ts'
import type { CountRefused } from '../core/limits.ts'
import { failClaim, type ClaimKey, type StoredAnswer } from '../core/repeats/idempotency.ts'
import type { TraceCarrier, Tracing } from '../core/trace.ts'
import { nearName } from '../core/words/near-name.ts'
import { shortened, toGatewayError, type GatewayError } from '../core/error.ts'
import { assertValid } from '../http/check-error.ts'
import { fingerprintOf } from '../http/idempotent.ts'
import { parsedJson, readArguments } from './arguments.ts'
import { countMalformed, JsonRpcError, rpcCodes, type MessageId, type Params } from './json-rpc.ts'
import {
  admitsInfo,
  levelMember,
  logOf,
  startReports,
  type CallReports,
  type ToolCallState,
  type ToolNotification,
} from './progress.ts'
import {
  printContent,
  printFailure,
  type BoundTool,
  type PrintedResult,
  type ToolContent,
  type ToolsInForce,
} from './tool.ts'

type Options = {
  inForce: () => ToolsInForce
  /** Whether an event stream of the account may be open, in any process. */
  isHeard: (accountId: string) => boolean
  publishState: (accountId: string, state: ToolCallState) => void
  progressIntervalMs: number
  claimKey: ClaimKey
  countRefused: CountRefused
  onFailure: (toolName: string, error: GatewayError, context: CallContext) => void
  tracing?: Pick<Tracing, 'tool'> | undefined
  monotonic: () => number
}
export type CallTool = (
  params: Params,
  context: CallContext,
  answering: Answering,
) => Promise<PrintedResult>

type Answering = {
  /** Sends a message before the result. */
  notify: (notification: ToolNotification) => void
  /** Whether log messages are sent before the result if the call requests them. */
  logsInAnswer: boolean
}

/**
 * `tools/call`. Throws a JsonRpcError for an unknown tool or malformed `arguments`. An error
 * of the tool is a result with `isError`, which a model can read (docs/behaviour.md#tool-server).
 */
export function createCallTool(options: Options): CallTool {
  const { inForce, claimKey, countRefused, onFailure } = options
  return counted(countRefused, async (params, callContext, answering) => {
    const { tools, enter, leave } = inForce()
    const tool = toolOf(params, tools)
    const toolArguments = argumentsOf(params)
    const { name } = tool.description
    const traced = options.tracing?.tool(name, metaOf(params), callContext.trace)
    const context = traced === undefined ? callContext : { ...callContext, trace: traced }
    const { requestId } = context
    const key = tool.isGeneration ? keyIn(params) : undefined
    const reports = reportsOf(tool, { params, context, answering, options })
    enter()
    try {
      const { input, ignored } = readArguments(toolArguments, tool.description.inputSchema)
      assertValid(tool.check, input)
      const { report } = reports
      const work = async (own: CallContext) =>
        printContent([...(await tool.handle(input, { context: own, report })), ...noteOn(ignored)])
      const result =
        key === undefined
          ? { ...(await work(context)), meta: { requestId } }
          : await callOnce({ key, toolName: name, input, context }, claimKey, work)
      reports.end('finished')
      traced?.ended?.(undefined)
      return result
    } catch (thrown) {
      const error = toGatewayError(await countRefused(thrown, context.caller))
      onFailure(name, error, context)
      reports.end(wasCancelled(error) ? 'cancelled' : 'failed')
      traced?.ended?.(error.code)
      return { ...printFailure(error), meta: { requestId } }
    } finally {
      leave()
    }
  })
}

/** Counts malformed calls as requests of their key; answers with an error if the key is over its limit. */
function counted(countRefused: CountRefused, call: CallTool): CallTool {
  return (params, context, answering) =>
    call(params, context, answering).catch(async (thrown: unknown) => {
      if (!(thrown instanceof JsonRpcError)) throw thrown
      const refusal = await countMalformed(countRefused, context.caller)
      if (refusal === undefined) throw thrown
      return { ...printFailure(refusal), meta: { requestId: context.requestId } }
    })
}

function toolOf({ name }: Params, tools: ToolsInForce['tools']): BoundTool {
  if (typeof name !== 'string') throw noTool("'name' must be a string.", undefined)
  const tool = tools.get(name)
  if (tool !== undefined) return tool
  throw noTool(`There is no tool '${name.slice(0, 200)}'.`, nearName(name, [...tools.keys()]))
}

function noTool(fault: string, near: string | undefined): JsonRpcError {
  const remedy =
    near === undefined ? 'Call tools/list for the names of all tools.' : `Did you mean '${near}'?`
  return new JsonRpcError(rpcCodes.invalidParams, `${fault} ${remedy}`)
}

/** The arguments; some clients send the object as a JSON string. */
function argumentsOf({ arguments: input = {} }: Params): object {
  const value = typeof input === 'string' ? parsedJson(input) : input
  if (isMembers(value)) return value
  const text = "'arguments' must be an object. Call tools/list for the parameters of the tool."
  throw new JsonRpcError(rpcCodes.invalidParams, text)
}

const ignoredMax = 10

/** A text block that names the arguments that were ignored, so that a model does not send them again. */
function noteOn(ignored: readonly string[]): ToolContent[] {
  if (ignored.length === 0) return []
  const more = ignored.length > ignoredMax ? ` and ${ignored.length - ignoredMax} more` : ''
  const names = ignored.slice(0, ignoredMax).map((name) => `'${shortened(name, 100)}'`)
  const text = `Ignored arguments, which this tool does not have: ${names.join(', ')}${more}.`
  return [{ type: 'text', text }]
}

type Reported = {
  params: Params
  context: CallContext
  answering: Answering
  options: Options
}

/** Reports progress to the client, and the state of calls of generating tools as log messages. */
function reportsOf(
  tool: BoundTool,
  { params, context: { caller, requestId }, answering, options }: Reported,
): CallReports {
  const { isHeard, publishState, progressIntervalMs: intervalMs, monotonic } = options
  const { notify, logsInAnswer } = answering
  const { progressToken: token, [levelMember]: level } = metaOf(params)
  const listeners: ((state: ToolCallState) => void)[] = []
  if (tool.isGeneration && isHeard(caller.accountId)) {
    listeners.push((state) => publishState(caller.accountId, state))
  }
  if (tool.isGeneration && logsInAnswer && admitsInfo(level)) {
    listeners.push((state) => notify({ method: 'notifications/message', params: logOf(state) }))
  }
  const toolName = tool.description.name
  return startReports({ toolName, requestId, token, notify, listeners, intervalMs, monotonic })
}

type Meta = TraceCarrier & {
  progressToken?: MessageId
  [levelMember]?: unknown
  idempotencyKey?: unknown
}

function metaOf({ _meta: meta }: Params): Meta {
  // `readMessages` has validated `_meta` of every request.
  return (meta as Meta | undefined) ?? {}
}

/** The idempotency key in a call's `_meta`, if it has one. Throws a JsonRpcError. */
function keyIn(params: Params): string | undefined {
  const { idempotencyKey: key } = metaOf(params)
  if (key === undefined) return undefined
  if (schemaChecks.IdempotencyKey(key)) return key
  const text = "'_meta.idempotencyKey' must be 1 to 255 visible ASCII characters, as one string."
  throw new JsonRpcError(rpcCodes.invalidParams, text)
}

type KeyedCall = { key: string; toolName: string; input: object; context: CallContext }

/**
 * Runs `work` once for calls with the same key, and answers the other calls with its result
 * (docs/tool-protocol.md#idempotency). Throws a GatewayError.
 */
async function callOnce(
  { key, toolName, input: request, context }: KeyedCall,
  claimKey: ClaimKey,
  work: (context: CallContext) => Promise<PrintedResult>,
): Promise<PrintedResult> {
  const { caller, requestId, memory, strict, fallback, allowRepeat } = context
  const operation = `tools/call ${toolName}`
  const fingerprint = await fingerprintOf({ request, texts: noTexts, strict, fallback })
  const keyed = { caller, key, operation, fingerprint, requestId, memory, allowRepeat }
  const { claim, stored } = await claimKey(keyed)
  if (claim === undefined) return replayed(stored)
  try {
    const result = await work({ ...context, isRepeat: claim.isRepeat, vendorKey: claim.vendorKey })
    await claim.store(storedOf(result))
    return { ...result, meta: { requestId } }
  } catch (thrown) {
    const error = toGatewayError(thrown)
    await failClaim(claim, error, () => storedOf(printFailure(error)))
    throw thrown
  }
}

function storedOf({ printed }: PrintedResult): StoredAnswer {
  return { status: null, headers: {}, body: printed }
}

/** The stored result, marked as replayed, with the request id of the call that produced it. */
function replayed({ body, requestId }: StoredAnswer & { requestId: string }): PrintedResult {
  const printed = body.map((piece) => Buffer.from(piece))
  return { printed, meta: { idempotentReplayed: true, requestId } }
}
