import { LRUCache } from 'lru-cache'
import { clientOfUserAgent, heardClient, type ConnectionLog } from '../core/connection-log.ts'
import type { Answer } from '../http/answer.ts'
import type { OperationCall } from '../http/operation.ts'
import type { Message, RequestMessage } from './messages.ts'
import { clientOf, nameOf, sessionHeader } from './sessions.ts'

type Call = Pick<OperationCall<'postMcp'>, 'caller' | 'request'>

/** Which programs talk to the tool server, by what they say of themselves. */
export type ClientNames = {
  /** A request that is no call of a tool was answered. */
  answered(request: RequestMessage, call: Call, answer: Answer): void
  /** Tools are called. */
  called(messages: readonly Message[], call: Call): void
}

type Options = {
  log: Pick<ConnectionLog, 'heard'>
  isTool: (name: string) => boolean
}

/** With these a program begins to talk, in either era. */
const beginnings: ReadonlySet<string> = new Set(['initialize', 'server/discover'])
const infoMember = 'io.modelcontextprotocol/clientInfo'
/** Sessions whose program is known here; of others the `User-Agent` tells. */
const sessionsMax = 10_000

type Named = { name: string; version: string | null }

export function createClientNames({ log, isTool }: Options): ClientNames {
  const bySession = new LRUCache<string, Named>({ max: sessionsMax })
  const ofRequest = (call: Call, { params }: RequestMessage) => {
    const { caller, request } = call
    const session = clientOf(caller, request.headers)
    return (
      toldIn(params) ??
      (session.sessionId === undefined ? undefined : bySession.get(nameOf(session))) ??
      clientOfUserAgent(request.headers['user-agent'])
    )
  }
  return {
    answered: (request, call, { headers }) => {
      if (!beginnings.has(request.method)) return
      const client = ofRequest(call, request)
      if (client === undefined) return
      const sessionId = headers?.[sessionHeader]
      const { keyId } = call.caller
      if (typeof sessionId === 'string') bySession.set(nameOf({ keyId, sessionId }), client)
      log.heard(call.caller, client, { begins: true })
    },
    called: (messages, call) => {
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

/** What a request says of its program: at the handshake, or with each in the newer era. */
function toldIn({ clientInfo, _meta: meta }: RequestMessage['params']): Named | undefined {
  const told = clientInfo ?? (meta as Record<string, unknown> | undefined)?.[infoMember]
  if (typeof told !== 'object' || told === null) return undefined
  const { name, version } = told as { name?: unknown; version?: unknown }
  return heardClient(name, version)
}
