import { LRUCache } from 'lru-cache'
import { clientOfUserAgent, reportedClient, type ConnectionLog } from '../core/connection-log.ts'
import type { Answer } from '../http/answer.ts'
import type { OperationCall } from '../http/operation.ts'
import type { Message, RequestMessage } from './json-rpc.ts'
import { sessionHeader } from './protocol.ts'
import { clientOf, nameOf } from './sessions.ts'

type Call = Pick<OperationCall<'postMcp'>, 'caller' | 'request'>

type Options = {
  log: Pick<ConnectionLog, 'heard'>
  isTool: (name: string) => boolean
}

/** The first methods of a connection, in either era. */
const openingMethods: ReadonlySet<string> = new Set(['initialize', 'server/discover'])
const infoMember = 'io.modelcontextprotocol/clientInfo'
/** Sessions whose program is cached; without an entry the `User-Agent` names the program. */
const sessionsMax = 10_000

type Named = { name: string; version: string | null }

/** Logs the programs that use the tool server, by the name that each sends. */
export type ClientInfo = ReturnType<typeof createClientInfo>

export function createClientInfo({ log, isTool }: Options) {
  const bySession = new LRUCache<string, Named>({ max: sessionsMax })
  const ofRequest = (call: Call, { params }: RequestMessage) => {
    const { caller, request } = call
    const session = clientOf(caller, request.headers)
    return (
      infoIn(params) ??
      (session.sessionId === undefined ? undefined : bySession.get(nameOf(session))) ??
      clientOfUserAgent(request.headers['user-agent'])
    )
  }
  return {
    /** Call this for each answered request of a method other than `tools/call`. */
    answered: (request: RequestMessage, call: Call, { headers }: Answer) => {
      if (!openingMethods.has(request.method)) return
      const client = ofRequest(call, request)
      if (client === undefined) return
      const sessionId = headers?.[sessionHeader]
      const { keyId } = call.caller
      if (typeof sessionId === 'string') bySession.set(nameOf({ keyId, sessionId }), client)
      log.heard(call.caller, client, { begins: true })
    },
    /** Call this with the messages of each POST with tool calls. */
    called: (messages: readonly Message[], call: Call) => {
      for (const message of messages) {
        if (message.kind !== 'request' || message.method !== 'tools/call') continue
        const { name: tool } = message.params
        const client = ofRequest(call, message)
        if (client === undefined || typeof tool !== 'string' || !isTool(tool)) continue
        log.heard(call.caller, client, { tool })
      }
    },
  }
}

/** The program's name in `initialize`, or in any request of revision 2026-07-28. */
function infoIn({ clientInfo, _meta: meta }: RequestMessage['params']): Named | undefined {
  const info = clientInfo ?? (meta as Record<string, unknown> | undefined)?.[infoMember]
  if (typeof info !== 'object' || info === null) return undefined
  const { name, version } = info as { name?: unknown; version?: unknown }
  return reportedClient(name, version)
}
