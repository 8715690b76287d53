import { isMembers } from '../../core/any-json.ts'
import type { IncomingHttpHeaders } from 'node:http'
import { schemaChecks } from '../../../generated/checks.js'
import { shortened } from '../../core/error.ts'
import type { Answer } from '../../http/answer.ts'
import { complaintOf } from '../../http/check-error.ts'
import type { OperationCall } from '../../http/operation.ts'
import { eventOf, toolsChanged, type EventStreams } from '../event-streams.ts'
import {
  JsonRpcError,
  rpcCodes,
  withoutNulls,
  type Message,
  type RequestMessage,
} from '../json-rpc.ts'
import {
  capabilities,
  claimOf,
  instructions,
  modernRevision,
  revisionHeader,
  revisionMember,
  revisionsIn,
  serverInfoMember,
} from '../protocol.ts'
import { withMembers, type ToolsInForce } from '../tool.ts'
import { emptyLists, onlyPage, type Era, type Method, type Post } from './era.ts'

type Options = {
  inForce: () => Pick<ToolsInForce, 'list'>
  streams: Pick<EventStreams, 'open'>
}

const ttlMs = 300_000
/** Results may be cached for all clients, which get the same lists. */
const caching = { ttlMs, cacheScope: 'public' }
/** Members of all results. */
const always = { resultType: 'complete', _meta: serverInfoMember }

/** Revision 2026-07-28: no handshake and no sessions. */
export function createModernEra({ inForce, streams }: Options): Era {
  // This revision requires a capability for each list, even for an empty one.
  const declared = { ...capabilities, prompts: {}, resources: {} }
  const about = {
    supportedVersions: [modernRevision],
    capabilities: declared,
    instructions,
    ...caching,
  }
  const discovered = JSON.stringify({ ...always, ...about })
  const asResult = (list: string) => withMembers([list], { ...always, ...caching }).join('')
  // The serialized result is cached until a reload changes the list.
  let listed = { list: '', result: '' }
  const resultOf = (list: string): string => {
    if (listed.list !== list) {
      listed = { list, result: asResult(list) }
    }
    return listed.result
  }
  const methods = new Map<string, Method>([
    ['server/discover', () => discovered],
    ['tools/list', (params) => onlyPage(params, resultOf(inForce().list))],
    ...emptyLists.entries().map(([method, list]): [string, Method] => {
      const result = asResult(list)
      return [method, (params) => onlyPage(params, result)]
    }),
  ])
  return {
    assertAllowed: (post, { request }) => assertModern(post, request.headers),
    // Uses the request id as the session: other clients of the key may use the same message ids.
    clientOf: ({ caller, requestId }) => ({ keyId: caller.keyId, sessionId: requestId }),
    headersOf: () => undefined,
    methods,
    streams: new Map([['subscriptions/listen', (request, call) => listen(request, call, streams)]]),
    statusOf: (code) => (code === rpcCodes.methodNotFound ? 404 : 200),
    print: ({ printed, meta }) =>
      withMembers(printed, { ...always, _meta: { ...meta, ...serverInfoMember } }),
    takesCancellation: false,
    logsInAnswer: true,
  }
}

const methodHeader = 'mcp-method'
const nameHeader = 'mcp-name'
const shownLengthMax = 200

/** Throws a JsonRpcError unless a POST and its headers comply with revision 2026-07-28. */
function assertModern({ isBatch, messages }: Post, headers: IncomingHttpHeaders): void {
  if (isBatch) {
    const text = `Revision ${modernRevision} has no batches. Send each message in a separate POST.`
    throw new JsonRpcError(rpcCodes.invalidRequest, text)
  }
  const [message] = messages
  if (message?.kind !== 'request' && message?.kind !== 'notification') return
  assertSpoken(message, headers)
  if (message.kind === 'request') assertWholeMeta(message)
  assertHeaders(message, headers)
}

type Named = Extract<Message, { method: string }>

/** Throws unless the revision is supported; the header may name one of an earlier handshake. */
function assertSpoken(message: Named, headers: IncomingHttpHeaders): void {
  const claim = claimOf(message)
  if (typeof claim !== 'string') return
  const other = revisionsIn(headers).find((name) => name !== claim && !isOlder(name, claim))
  if (other !== undefined)
    throw mismatch(revisionHeader, other, claim, `_meta['${revisionMember}']`)
  if (schemaChecks.ModernRevision(claim)) return
  const requested = shortened(claim, shownLengthMax)
  throw new JsonRpcError(
    rpcCodes.unsupportedRevision,
    `Revision '${requested}' is not supported. Send requests of revision ${modernRevision}. ` +
      "Older revisions start with 'initialize'.",
    { supported: [modernRevision], requested },
  )
}

function isOlder(named: string, claim: string): boolean {
  return schemaChecks.LegacyRevision(named) && !schemaChecks.LegacyRevision(claim)
}

function assertWholeMeta({ params }: RequestMessage): void {
  const { _meta: meta = {} } = params
  if (schemaChecks.ModernMeta(meta)) return
  const { message } = complaintOf(schemaChecks.ModernMeta, { prefix: '_meta' })
  const text = `A request of revision ${modernRevision} needs '_meta'. ${message}`
  throw new JsonRpcError(rpcCodes.invalidParams, text)
}

/**
 * Headers must match the message. They may be missing from a notification, and from a request whose
 * version header names an older revision, which does not define the other headers.
 */
function assertHeaders(message: Named, headers: IncomingHttpHeaders): void {
  const { kind, method, params } = message
  const named = revisionsIn(headers)
  const isComplete = kind === 'request' && named.every((name) => schemaChecks.ModernRevision(name))
  if (isComplete && named.length === 0) throw missing(revisionHeader, modernRevision)
  const sent = { [methodHeader]: method, ...nameIn(method, params['name']) }
  for (const [header, meant] of Object.entries(sent)) {
    const value = valueOf(headers, header)
    if (value === undefined && isComplete) throw missing(header, meant)
    if (value !== undefined && decoded(value) !== meant) throw mismatch(header, value, meant)
  }
}

function nameIn(method: string, name: unknown): Record<string, string> {
  return method === 'tools/call' && typeof name === 'string' ? { [nameHeader]: name } : {}
}

function valueOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return value === undefined ? undefined : String(value).trim()
}

/** The value of a header that may be base64 of UTF-8; undefined for malformed base64. */
function decoded(value: string): string | undefined {
  const [, base64] = /^=\?base64\?(.*)\?=$/.exec(value) ?? []
  if (base64 === undefined) return value
  const bytes = Buffer.from(base64, 'base64')
  return bytes.toString('base64') === base64 ? bytes.toString() : undefined
}

function missing(header: string, meant: string): JsonRpcError {
  const text = `The header '${header}' is required. Send it with the value '${shortened(meant, shownLengthMax)}'.`
  return new JsonRpcError(rpcCodes.headerMismatch, text)
}

function mismatch(header: string, value: string, meant: string, place = 'message'): JsonRpcError {
  const [sent, right] = [value, meant].map((one) => shortened(one, shownLengthMax))
  const text = `The header '${header}' is '${sent}', but the ${place} has '${right}'. Send the same value in both.`
  return new JsonRpcError(rpcCodes.headerMismatch, text)
}

const subscriptionMember = 'io.modelcontextprotocol/subscriptionId'

/**
 * `subscriptions/listen`: a stream that starts with the accepted subscription, and ends with the
 * result when the gateway ends it. Only changes of the list of tools can be subscribed to. Throws
 * a JsonRpcError for a malformed filter, a GatewayError at the limits of event streams.
 */
function listen(
  { id, method, params }: RequestMessage,
  { caller, requestId, ending }: OperationCall<'postMcp'>,
  streams: Pick<EventStreams, 'open'>,
): Answer {
  const { notifications: filter } = params
  const notifications = isMembers(filter) ? withoutNulls(filter) : filter
  const request = { jsonrpc: '2.0', id, method, params: { ...params, notifications } }
  if (!schemaChecks.SubscriptionsListen(request)) {
    const { message } = complaintOf(schemaChecks.SubscriptionsListen)
    throw new JsonRpcError(rpcCodes.invalidParams, message)
  }
  const mine = { [subscriptionMember]: id }
  const isWanted = request.params.notifications.toolsListChanged === true
  const opening = eventOf({
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: { _meta: mine, notifications: isWanted ? { toolsListChanged: true } : {} },
  })
  const result = { resultType: 'complete', _meta: { ...mine, ...serverInfoMember } }
  const closing = eventOf({ jsonrpc: '2.0', id, result })
  if (!isWanted) {
    const events: Answer['events'] = async () => Buffer.concat([opening, closing])
    return { status: 200, events }
  }
  const client = { keyId: caller.keyId, sessionId: requestId }
  const changed = eventOf({ ...toolsChanged, params: { _meta: mine } })
  return streams.open(caller, client, {
    signal: ending.signal,
    events: { opening, toolsChanged: changed, receivesCalls: false, closing },
  })
}
