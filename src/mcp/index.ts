import type { CallContext } from '../core/caller.ts'
import type { ConnectionLog } from '../core/connection-log.ts'
import type { GatewayError } from '../core/error.ts'
import type { ClaimKey } from '../core/recall/idempotency.ts'
import type { CountRefused } from '../core/limits.ts'
import type { Tracing } from '../core/trace.ts'
import type { Operations } from '../http/contract-router.ts'
import type { ErrorAnswer } from '../http/error-answer.ts'
import type { Operation } from '../http/operation.ts'
import { createCallTool, logOf } from './call-tool.ts'
import { deleteMcp } from './delete-mcp.ts'
import type { Elsewhere, ToolCallState } from './elsewhere.ts'
import { createClientNames } from './client-names.ts'
import { createLegacyEra } from './eras/legacy.ts'
import { createModernEra } from './eras/modern.ts'
import { createEventStreams, type EventStreamLimits } from './event-streams.ts'
import { getMcp } from './get-mcp.ts'
import { createErrorAnswer, errorMessage, rpcCodes } from './json-rpc.ts'
import { createLogLevels } from './log-levels.ts'
import { createMultiplexer } from './multiplexer.ts'
import type { AllowsOrigin } from './origin.ts'
import { postMcp, type PostLimits } from './post-mcp.ts'
import { createSessions, type Client, type SessionLimits } from './sessions.ts'
import type { ToolsInForce } from './tool.ts'

type McpId = 'postMcp' | 'getMcp' | 'deleteMcp'
type Options = {
  config: {
    baseUrl: string | undefined
    limits: PostLimits & EventStreamLimits & SessionLimits & { toolProgressIntervalMs: number }
  }
  inForce: () => ToolsInForce
  /** Whether pages of an origin may use the tool server. */
  allowsOrigin: AllowsOrigin
  claimKey: ClaimKey
  countRefused: CountRefused
  elsewhere: Elsewhere
  /** Proves ids of sessions, the same for all processes. */
  sessionKey: Buffer
  onFailure: (toolName: string, error: GatewayError, context: CallContext) => void
  connectionLog: Pick<ConnectionLog, 'heard'>
  tracing?: Tracing | undefined
  monotonic: () => number
}

export type ToolServer = {
  /** The operations of /mcp. */
  operations: Pick<Operations, McpId>
  errorAnswer: ErrorAnswer
  /** The origin itself if its pages may use the tool server, else undefined. */
  allowedOrigin: (origin: string) => string | undefined
  /** Sends `tools/list_changed` to all event streams; to be called when tools have changed. */
  announceToolsChanged(): void
  /** What clients did at another process. */
  fromElsewhere: { [Act in keyof Elsewhere]: NonNullable<Elsewhere[Act]> }
  /** Ends all event streams. */
  close(): void
}

/**
 * The tool server: one SDK server behind a Streamable HTTP transport of our own. The SDK is loaded
 * with the first tool call: it takes a fifth of the heap, which every garbage collection scans.
 */
export function createToolServer(options: Options): ToolServer {
  const { config, inForce, allowsOrigin, claimKey, countRefused, elsewhere } = options
  const { onFailure, tracing, monotonic } = options
  const { limits } = config
  const multiplexer = createMultiplexer()
  const streams = createEventStreams(limits)
  const levels = createLogLevels(limits)
  const sessions = createSessions(options.sessionKey, limits)
  const endSessionHere = (client: Client): void => {
    sessions.end(client)
    streams.endSession(client)
    multiplexer.cancelAll(client)
    levels.forget(client)
  }
  const progressIntervalMs = limits.toolProgressIntervalMs
  const tellHere = (accountId: string, data: ToolCallState): void => {
    const message = { jsonrpc: '2.0', method: 'notifications/message', params: logOf(data) }
    streams.publish(accountId, message, levels.wantsInfo)
  }
  const callTool = createCallTool({
    inForce,
    isHeard: (accountId) => elsewhere.tellState !== undefined || streams.isHeard(accountId),
    tellState: (accountId, state) => {
      tellHere(accountId, state)
      elsewhere.tellState?.(accountId, state)
    },
    progressIntervalMs,
    claimKey,
    countRefused,
    onFailure,
    tracing,
    monotonic,
  })
  const eras = {
    legacy: createLegacyEra({ inForce, levels, sessions, elsewhere }),
    modern: createModernEra({ inForce, streams }),
  }
  const endSession = (client: Client): void => {
    endSessionHere(client)
    elsewhere.endSession(client)
  }
  const clientNames = createClientNames({
    log: options.connectionLog,
    isTool: (name) => inForce().tools.has(name),
  })
  const connect = once(async () => {
    const { connectServer } = await import('./server.ts')
    await connectServer({ multiplexer, callTool })
  })
  return {
    operations: {
      postMcp: guarded(
        postMcp({ multiplexer, eras, elsewhere, clientNames, connect, limits }),
        allowsOrigin,
      ),
      getMcp: guarded(getMcp({ streams, sessions }), allowsOrigin),
      deleteMcp: guarded(deleteMcp({ sessions, endSession }), allowsOrigin),
    },
    errorAnswer: createErrorAnswer(config.baseUrl),
    allowedOrigin: (origin) => (allowsOrigin(origin) ? origin : undefined),
    announceToolsChanged: streams.announceToolsChanged,
    fromElsewhere: {
      cancel: multiplexer.cancelByClient,
      setLevel: levels.set,
      endSession: endSessionHere,
      tellState: tellHere,
    },
    close: streams.close,
  }
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => (made ??= make())
}

/** Answers pages of other origins with 403 (MCP specification, transports, security warning). */
function guarded<Id extends McpId>(
  handle: Operation<Id>,
  allowsOrigin: AllowsOrigin,
): Operation<Id> {
  return async (call) => {
    const { origin } = call.request.headers
    if (origin === undefined || allowsOrigin(origin)) return handle(call)
    const text =
      'Pages of this origin may not use the tool server. ' +
      'The setting allowed_origins lists those that may.'
    return { status: 403, json: errorMessage(null, rpcCodes.refused, text) }
  }
}
