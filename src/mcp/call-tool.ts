import type { CallContext } from '../core/caller.ts'
import { toGatewayError, type GatewayError } from '../core/error.ts'
import { wasCancelled } from '../core/failure.ts'
import type { ClaimKey } from '../core/recall/idempotency.ts'
import type { CountRefused } from '../core/limits.ts'
import { nearName } from '../core/words/near-name.ts'
import type { TraceCarrier, Tracing } from '../core/trace.ts'
import { assertValid } from '../http/check-error.ts'
import { failureText, printContent, printFailure, type PrintedResult } from './content.ts'
import type { ToolCallState } from './elsewhere.ts'
import { callOnce, keyIn } from './idempotent-call.ts'
import { JsonRpcError, rpcCodes, type MessageId } from './json-rpc.ts'
import { admitsInfo, levelMember } from './log-levels.ts'
import { withoutNulls, type Params } from './messages.ts'
import { startProgress, type ProgressNotification } from './progress.ts'
import type { BoundTool, ToolsInForce } from './tool.ts'

type Options = {
  inForce: () => ToolsInForce
  /** Whether somebody may listen for an account. */
  isHeard: (accountId: string) => boolean
  tellState: (accountId: string, state: ToolCallState) => void
  progressIntervalMs: number
  claimKey: ClaimKey
  countRefused: CountRefused
  /** Called for each call that ends with an error of the tool. */
  onFailure: (toolName: string, error: GatewayError, context: CallContext) => void
  tracing?: Pick<Tracing, 'tool'> | undefined
  monotonic: () => number
}
export type CallTool = (
  params: Params,
  context: CallContext,
  answering: Answering,
) => Promise<PrintedResult>

/** How news of a call reach its client. */
type Answering = {
  /** Sends a message before the result. */
  notify: (notification: ToolNotification) => void
  /** Whether log messages that the call asks for are among them. */
  logsInAnswer: boolean
}
export type ToolNotification = ProgressNotification | LogNotification
type LogMessage = { level: 'info'; logger: 'generation'; data: ToolCallState }
type LogNotification = { method: 'notifications/message'; params: LogMessage }

/** The state of a call as a log message. */
export function logOf(data: ToolCallState): LogMessage {
  return { level: 'info', logger: 'generation', data }
}

/**
 * `tools/call`. Throws a JsonRpcError for an unknown tool or malformed `arguments`. An error
 * of the tool is a result with `isError`, which a model can read (docs/behaviour.md#tool-server).
 */
export function createCallTool(options: Options): CallTool {
  const { inForce, claimKey, countRefused, onFailure } = options
  return async (params, asked, answering) => {
    const { tools, enter, leave } = inForce()
    const { name, arguments: given = {} } = params
    const tool = typeof name === 'string' ? tools.get(name) : undefined
    if (tool === undefined) throw noTool(name, [...tools.keys()])
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      const remedy =
        typeof given === 'string' ? ' It is a string: send JSON itself, without the quotes.' : ''
      throw new JsonRpcError(rpcCodes.invalidParams, `'arguments' must be an object.${remedy}`)
    }
    const traced = options.tracing?.tool(tool.description.name, metaOf(params), asked.trace)
    const context = traced === undefined ? asked : { ...asked, trace: traced }
    const { requestId } = context
    const key = tool.isGeneration ? keyIn(params) : undefined
    const work = announce(tool, { params, context, answering, options })
    enter()
    try {
      const input: object = withoutNulls(given)
      assertValid(tool.check, input)
      const { report } = work
      const call = async (given: CallContext) =>
        printContent(await tool.handle(input, { context: given, report }))
      const keyed = { toolName: tool.description.name, input, context }
      const result =
        key === undefined
          ? { ...(await call(context)), meta: { requestId } }
          : await callOnce({ key, ...keyed }, claimKey, call)
      work.end('finished')
      traced?.ended?.(undefined)
      return result
    } catch (thrown) {
      const error = toGatewayError(await countRefused(thrown, context.caller))
      onFailure(tool.description.name, error, context)
      work.end(wasCancelled(error) ? 'cancelled' : 'failed')
      traced?.ended?.(error.code)
      return { ...printFailure(failureText(error)), meta: { requestId } }
    } finally {
      leave()
    }
  }
}

function noTool(name: unknown, names: readonly string[]): JsonRpcError {
  const what =
    typeof name === 'string' ? `There is no tool '${name.slice(0, 200)}'.` : 'No tool is named.'
  const near = typeof name === 'string' ? nearName(name, names) : undefined
  const remedy =
    near === undefined ? 'The method tools/list lists the tools.' : `Did you mean '${near}'?`
  return new JsonRpcError(rpcCodes.invalidParams, `${what} ${remedy}`)
}

type Announced = {
  params: Params
  context: CallContext
  answering: Answering
  options: Options
}

/** Reports progress to the client; for generating tools also to the account's event streams. */
function announce(tool: BoundTool, { params, context, answering, options }: Announced) {
  const { isHeard, tellState, progressIntervalMs, monotonic } = options
  const { name } = tool.description
  const { caller, requestId } = context
  const { notify, logsInAnswer } = answering
  const isLogged = tool.isGeneration && logsInAnswer && admitsInfo(metaOf(params)[levelMember])
  const isHeardOf = tool.isGeneration && isHeard(caller.accountId)
  const tell = (state: string, elapsedMs: number) => {
    const told = { tool: name, requestId, state, elapsedMs }
    if (isHeardOf) tellState(caller.accountId, told)
    if (isLogged) notify({ method: 'notifications/message', params: logOf(told) })
  }
  const startedAt = monotonic()
  tell('started', 0)
  const { report, stop } = startProgress({
    toolName: name,
    token: tokenOf(params),
    notify,
    onTick: (elapsedMs) => tell('running', elapsedMs),
    isObserved: isHeardOf || isLogged,
    intervalMs: progressIntervalMs,
    monotonic,
  })
  return {
    report,
    end: (state: string) => {
      stop()
      tell(state, monotonic() - startedAt)
    },
  }
}

function tokenOf(params: Params): MessageId | undefined {
  return metaOf(params).progressToken
}

type Meta = TraceCarrier & { progressToken?: MessageId; [levelMember]?: unknown }

function metaOf({ _meta: meta }: Params): Meta {
  // `readMessages` has checked `_meta` of every request.
  return (meta as Meta | undefined) ?? {}
}
