import type { CallContext } from '../core/caller.ts'
import { callerCancelled, callerLeft } from '../core/resilience/deadline.ts'
import { GatewayError } from '../core/error.ts'
import { KeyEnded } from '../core/failure.ts'
import type { CountRefused } from '../core/limits.ts'
import { contextOf, type Operation } from '../http/operation.ts'
import type { ClientInfo } from './client-info.ts'
import { answerRequest, respond, type Era } from './eras/era.ts'
import {
  countMalformed,
  errorMessage,
  readMessages,
  refusalOf,
  rpcCodes,
  type Message,
  type MessageId,
  type PrintedJson,
  type RequestMessage,
} from './json-rpc.ts'
import { accepts, openResponse, type PostResponse } from './post-response.ts'
import { eraOf, type EraName } from './protocol.ts'
import type { ToolRequest } from './sdk-server.ts'
import type { Client } from './sessions.ts'

type Options = {
  eras: Record<EraName, Era>
  clientInfo: ClientInfo
  openCalls: OpenCalls
  /** Cancels the client's calls with this id, in all processes. */
  cancel: (client: Client, id: unknown) => void
  /** Returns the response; undefined if the call was cancelled. */
  callTool: (request: ToolRequest) => Promise<PrintedJson | undefined>
  countRefused: CountRefused
  limits: PostLimits
}
export type PostLimits = {
  batchCallsConcurrentMax: number
  streamAfterMs: number
  toolCallsPerKeyMax: number
}

/** POST /mcp: one message or a batch. */
export function postMcp({
  limits,
  eras,
  clientInfo,
  countRefused,
  ...parts
}: Options): Operation<'postMcp'> {
  const { batchCallsConcurrentMax: concurrency, toolCallsPerKeyMax: callsMax } = limits
  const count = async ({ caller }: Pick<CallContext, 'caller'>) => {
    const refusal = await countMalformed(countRefused, caller)
    if (refusal !== undefined) throw refusal
  }
  return async (call) => {
    const { isBatch, messages } = readMessages(call.body)
    const [first] = messages
    if (messages.some(({ kind }) => kind === 'invalid')) await count(call)
    if (!isBatch && first?.kind === 'invalid') return { status: 400, json: malformed(first) }
    const { headers } = call.request
    const era = eras[eraOf(messages, headers)]
    try {
      era.assertAllowed({ isBatch, messages }, call)
    } catch (error) {
      const json = refusalOf(error, isBatch ? null : idOf(first))
      await count(call)
      return { status: 400, json }
    }
    if (!isBatch && first?.kind === 'request' && !isToolCall(first)) {
      const answer = answerRequest(first, era, call)
      clientInfo.answered(first, call, answer)
      return answer
    }
    const calls = messages.filter(isToolCall).length
    if (parts.openCalls.countOf(call.caller.keyId) + calls > callsMax) {
      throw tooManyCalls(callsMax)
    }
    clientInfo.called(messages, call)
    const context = contextOf(call, 'mcp')
    const acceptsEvents = accepts(headers.accept, 'text/event-stream')
    const response = openResponse({ acceptsEvents, isBatch })
    const slow = setTimeout(response.stream, limits.streamAfterMs)
    const client = era.clientOf(call)
    answerAll(messages, { ...parts, era, client, context, response, concurrency })
      .finally(() => clearTimeout(slow))
      .then(() => endOrRefuse(response, context), response.fail)
    return response.answer
  }
}

/** Ends the response; with the error of the key if its expiry or revocation cancelled the calls. */
function endOrRefuse(response: PostResponse, { ending }: CallContext): void {
  const { reason } = ending.signal
  if (reason instanceof KeyEnded) response.fail(reason.error)
  else response.end()
}

type CallMessage = RequestMessage & { method: 'tools/call' }

function isToolCall(message: Message): message is CallMessage {
  return message.kind === 'request' && message.method === 'tools/call'
}

type Post = Omit<Options, 'limits' | 'eras' | 'clientInfo' | 'countRefused'> & {
  era: Era
  client: Client
  context: CallContext
  response: PostResponse
  concurrency: number
}

/** Answers all messages of a POST; at most `concurrency` tool calls run at once. */
async function answerAll(messages: readonly Message[], post: Post): Promise<void> {
  const { era, client, context, response, cancel, concurrency } = post
  const { signal } = context.ending
  const calls: ReturnType<typeof enqueue>[] = []
  for (const message of messages) {
    if (isToolCall(message)) {
      calls.push(enqueue(message, post, calls.length))
    } else if (message.kind === 'request') {
      response.reply(respond(message, client, era).printed)
    } else if (message.kind === 'invalid') {
      response.reply([JSON.stringify(malformed(message))])
    } else if (era.takesCancellation && isCancellation(message)) {
      cancel(client, message.params['requestId'])
    }
    // Other notifications, and responses, need no action.
  }
  if (calls.length === 0) return
  const cancelAll = () => {
    const reason = signal.reason instanceof KeyEnded ? signal.reason : callerLeft()
    for (const call of calls) call.cancel(reason)
  }
  if (signal.aborted) cancelAll()
  else signal.addEventListener('abort', cancelAll, { once: true })
  try {
    let next = 0
    const worker = async (): Promise<void> => {
      while (next < calls.length) await calls[next++]!.run()
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, calls.length) }, worker))
  } finally {
    signal.removeEventListener('abort', cancelAll)
    for (const { close } of calls) close()
  }
}

/** A call that can be cancelled while it is queued and while it runs. */
function enqueue(message: CallMessage, post: Post, index: number) {
  const { openCalls, callTool, era, client, context, response } = post
  const cancelled = new AbortController()
  const cancel = (reason: Error) => cancelled.abort(reason)
  const open = { client, id: message.id, cancel }
  openCalls.add(open)
  const close = () => openCalls.remove(open)
  // Each call needs a unique id for its row in the ledger.
  const requestId = index === 0 ? context.requestId : `${context.requestId}_${index + 1}`
  const request = {
    message,
    context: { ...context, requestId },
    era,
    notify: response.notify,
    cancelled: cancelled.signal,
  }
  const run = async () => {
    const reply = await callTool(request)
    close()
    if (reply !== undefined) response.reply(reply)
  }
  return { run, cancel, close }
}

type Notification = Extract<Message, { kind: 'notification' }>

function isCancellation(message: Message): message is Notification {
  return message.kind === 'notification' && message.method === 'notifications/cancelled'
}

function idOf(message: Message | undefined): MessageId | null {
  return message !== undefined && 'id' in message ? message.id : null
}

function tooManyCalls(callsMax: number): GatewayError {
  return new GatewayError(
    'rate_limit_exceeded',
    `This key may have at most ${callsMax} queued and running tool calls. Wait until some have ended.`,
    { retryAfterSeconds: 1 },
  )
}

function malformed({ id, reason }: Extract<Message, { kind: 'invalid' }>) {
  return errorMessage(id, rpcCodes.invalidRequest, reason)
}

type OpenCall = { client: Client; id: MessageId; cancel(reason: Error): void }

/** The queued and running tool calls, for cancellation and the limit of each key. */
type OpenCalls = ReturnType<typeof createOpenCalls>

export function createOpenCalls() {
  const byKey = new Map<string, Set<OpenCall>>()
  const callsOf = ({ keyId, sessionId }: Client) =>
    [...(byKey.get(keyId) ?? [])].filter(({ client }) => client.sessionId === sessionId)
  return {
    add: (call: OpenCall) => {
      const { keyId } = call.client
      byKey.set(keyId, (byKey.get(keyId) ?? new Set()).add(call))
    },
    remove: (call: OpenCall) => {
      const { keyId } = call.client
      const calls = byKey.get(keyId)
      calls?.delete(call)
      if (calls?.size === 0) byKey.delete(keyId)
    },
    countOf: (keyId: string) => byKey.get(keyId)?.size ?? 0,
    /**
     * Cancels the client's calls with this id; without a session only the latest call, since other
     * clients of the key may use the same id. Returns false if no call was found.
     */
    cancel: (client: Client, id: unknown) => {
      const found = callsOf(client).filter((call) => call.id === id)
      const cancelled = client.sessionId === undefined ? found.slice(-1) : found
      for (const call of cancelled) call.cancel(callerCancelled())
      return cancelled.length > 0
    },
    cancelAll: (session: Client) => {
      for (const call of callsOf(session)) call.cancel(callerCancelled())
    },
  }
}
