import type { CallContext } from '../core/caller.ts'
import type { ConnectionLog } from '../core/connection-log.ts'
import type { GatewayError } from '../core/error.ts'
import type { ClaimKey } from '../core/repeats/idempotency.ts'
import type { CountRefused } from '../core/limits.ts'
import type { Tracing } from '../core/trace.ts'
import type { Operation } from '../http/operation.ts'
import { createCallTool } from './call-tool.ts'
import { createClientInfo } from './client-info.ts'
import { createLegacyEra } from './eras/legacy.ts'
import { createModernEra } from './eras/modern.ts'
import { createEventStreams, type EventStreamLimits, type EventStreams } from './event-streams.ts'
import { createErrorAnswer, type MessageId } from './json-rpc.ts'
import { guarded, type AllowsOrigin } from './origin.ts'
import { createOpenCalls, postMcp, type PostLimits } from './post-mcp.ts'
import { accepts } from './post-response.ts'
import { createLogLevels, logOf, type ToolCallState } from './progress.ts'
import { assertKnownRevision, serverCard } from './protocol.ts'
import {
  clientOf,
  createSessions,
  type Client,
  type SessionLimits,
  type Sessions,
} from './sessions.ts'
import type { ToolsInForce } from './tool.ts'

type ToolServerOptions = {
  config: {
    baseUrl: string | undefined
    limits: PostLimits & EventStreamLimits & SessionLimits & { toolProgressIntervalMs: number }
  }
  inForce: () => ToolsInForce
  allowsOrigin: AllowsOrigin
  claimKey: ClaimKey
  countRefused: CountRefused
  otherProcesses: OtherProcesses
  /** The key that signs session ids, the same for all processes. */
  sessionKey: Buffer
  onFailure: (toolName: string, error: GatewayError, context: CallContext) => void
  connectionLog: Pick<ConnectionLog, 'heard'>
  tracing?: Tracing | undefined
  monotonic: () => number
}

/** Forwards the actions of a client to the other processes, which may answer its next messages. */
export type OtherProcesses = {
  cancel(client: Client, id: MessageId): void
  setLevel(client: Client, level: string): void
  endSession(client: Client): void
  /** Sends a call's state to the account's event streams; undefined if there is only one process. */
  publishState: ((accountId: string, state: ToolCallState) => void) | undefined
}

export type ToolServer = ReturnType<typeof createToolServer>

/** The tool server: the gateway's own Streamable HTTP transport around SDK servers (docs/tool-protocol.md#sdk). */
export function createToolServer(options: ToolServerOptions) {
  const { config, inForce, allowsOrigin, otherProcesses, connectionLog: log } = options
  const { limits } = config
  const openCalls = createOpenCalls()
  const streams = createEventStreams(limits)
  const levels = createLogLevels(limits)
  const sessions = createSessions(options.sessionKey, limits)
  const here = {
    cancel: openCalls.cancel,
    setLevel: levels.set,
    endSession: (client: Client) => {
      sessions.end(client)
      streams.endSession(client)
      openCalls.cancelAll(client)
      levels.forget(client)
    },
    publishState: (accountId: string, state: ToolCallState) => {
      const message = { jsonrpc: '2.0', method: 'notifications/message', params: logOf(state) }
      streams.publish(accountId, message, levels.wantsInfo)
    },
  }
  const { publishState } = otherProcesses
  const callTool = createCallTool({
    ...options,
    isHeard: (accountId) => publishState !== undefined || streams.isHeard(accountId),
    publishState: (accountId, state) => {
      here.publishState(accountId, state)
      publishState?.(accountId, state)
    },
    progressIntervalMs: limits.toolProgressIntervalMs,
  })
  const setLevel = (client: Client, level: unknown) => {
    if (!levels.set(client, level)) return false
    otherProcesses.setLevel(client, level)
    return true
  }
  const post = postMcp({
    eras: {
      legacy: createLegacyEra({ inForce, sessions, setLevel }),
      modern: createModernEra({ inForce, streams }),
    },
    clientInfo: createClientInfo({ log, isTool: (name) => inForce().tools.has(name) }),
    openCalls,
    cancel: (client, id) => {
      if (openCalls.cancel(client, id)) return
      if (typeof id === 'string' || typeof id === 'number') otherProcesses.cancel(client, id)
    },
    callTool: async (request) => (await loadSdk()).callInServer(request, callTool),
    countRefused: options.countRefused,
    limits,
  })
  const endSession = (client: Client) => {
    here.endSession(client)
    otherProcesses.endSession(client)
  }
  return {
    operations: {
      postMcp: guarded(post, allowsOrigin),
      getMcp: guarded(getMcp(streams, sessions), allowsOrigin),
      deleteMcp: guarded(deleteMcp({ sessions, endSession }), allowsOrigin),
    },
    errorAnswer: createErrorAnswer(config.baseUrl),
    /** Returns the origin if its pages may use the tool server, else undefined. */
    allowedOrigin: (origin: string) => (allowsOrigin(origin) ? origin : undefined),
    announceToolsChanged: streams.announceToolsChanged,
    /** For the actions that other processes forward. */
    fromOtherProcesses: here,
    close: streams.close,
  }
}

/** Loads the SDK on the first tool call, since the SDK takes a fifth of the heap. */
const loadSdk = once(() => import('./sdk-server.ts'))

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => (result ??= make())
}

/** GET /mcp: an event stream if `Accept` names one, else a description of the tool server. */
function getMcp(streams: EventStreams, sessions: Sessions): Operation<'getMcp'> {
  return async ({ request, caller, ending }) => {
    const { method, headers } = request
    assertKnownRevision(headers)
    if (method !== 'GET' || !accepts(headers.accept, 'text/event-stream')) {
      return { status: 200, json: serverCard }
    }
    const client = clientOf(caller, headers)
    sessions.check(caller.accountId, client)
    return streams.open(caller, client, { signal: ending.signal })
  }
}

type DeleteOptions = { sessions: Sessions; endSession: (client: Client) => void }

/** DELETE /mcp: ends a session with its streams and calls. */
function deleteMcp({ sessions, endSession }: DeleteOptions): Operation<'deleteMcp'> {
  return async ({ request, caller }) => {
    assertKnownRevision(request.headers)
    const client = clientOf(caller, request.headers)
    sessions.check(caller.accountId, client)
    if (client.sessionId !== undefined) endSession(client)
    return { status: 204 }
  }
}
