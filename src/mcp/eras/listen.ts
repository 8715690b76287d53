import { schemaChecks } from '../../../generated/checks.js'
import { complaintOf } from '../../http/check-error.ts'
import type { Answer } from '../../http/answer.ts'
import type { OperationCall } from '../../http/operation.ts'
import { eventOf, toolsChanged, type EventStreams } from '../event-streams.ts'
import { JsonRpcError, rpcCodes } from '../json-rpc.ts'
import { isObject, withoutNulls, type RequestMessage } from '../messages.ts'
import { serverInfoMember } from '../server-card.ts'

const subscriptionMember = 'io.modelcontextprotocol/subscriptionId'

/**
 * `subscriptions/listen`: a stream that begins with what will be told, and ends with the answer when
 * the gateway ends it. Of all that can be asked for only the list of tools changes here. Throws a
 * JsonRpcError for a filter that is none, a GatewayError at the limits of event streams.
 */
export function listen(
  { id, method, params }: RequestMessage,
  { caller, requestId, ending }: OperationCall<'postMcp'>,
  streams: Pick<EventStreams, 'open'>,
): Answer {
  const { notifications: filter } = params
  const notifications = isObject(filter) ? withoutNulls(filter) : filter
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
    news: { opening, toolsChanged: changed, hearsCalls: false, closing },
  })
}
