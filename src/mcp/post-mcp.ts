import type { CallContext } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { KeyEnded } from '../core/failure.ts'
import { contextOf, type Operation } from '../http/operation.ts'
import { openAnswerLine, type AnswerLine } from './answer-line.ts'
import { errorMessage, refusalOf, rpcCodes, type MessageId } from './json-rpc.ts'
import type { Elsewhere } from './elsewhere.ts'
import { readMessages, type Message, type MessageLimits, type RequestMessage } from './messages.ts'
import { answerAtOnce, answerOne } from './answer-at-once.ts'
import type { ClientNames } from './client-names.ts'
import type { Era } from './eras/era.ts'
import type { Multiplexer } from './multiplexer.ts'
import { eraOf, type EraName } from './revision.ts'
import type { Client } from './sessions.ts'

type Options = {
  multiplexer: Multiplexer
  eras: Record<EraName, Era>
  elsewhere: Pick<Elsewhere, 'cancel'>
  clientNames: ClientNames
  /** Resolves when the SDK server is connected to the multiplexer. */
  connect: () => Promise<void>
  limits: PostLimits
}
export type PostLimits = MessageLimits & {
  batchCallsConcurrentMax: number
  toolStreamAfterMs: number
  toolCallsPerKeyMax: number
}

/** POST /mcp: one message or a batch. */
export function postMcp({ limits, eras, clientNames, ...parts }: Options): Operation<'postMcp'> {
  return async (call) => {
    const { isBatch, messages } = readMessages(call.body, limits)
    const [first] = messages
    if (!isBatch && first?.kind === 'invalid') return { status: 400, json: malformed(first) }
    const { headers } = call.request
    const era = eras[eraOf(messages, headers)]
    try {
      era.assertAllowed({ isBatch, messages }, call)
    } catch (error) {
      return { status: 400, json: refusalOf(error, isBatch ? null : idOf(first)) }
    }
    if (!isBatch && first?.kind === 'request' && !isWork(first)) {
      const answer = answerOne(first, era, call)
      clientNames.answered(first, call, answer)
      return answer
    }
    const calls = messages.filter((one) => one.kind === 'request' && isWork(one)).length
    if (parts.multiplexer.countOf(call.caller.keyId) + calls > limits.toolCallsPerKeyMax) {
      throw tooManyCalls(limits.toolCallsPerKeyMax)
    }
    clientNames.called(messages, call)
    const context = contextOf(call, 'mcp')
    const acceptsEvents = accepts(call.request.headers.accept, 'text/event-stream')
    const line = openAnswerLine({ acceptsEvents, isBatch })
    const slow = setTimeout(line.stream, limits.toolStreamAfterMs)
    const concurrency = limits.batchCallsConcurrentMax
    const client = era.clientOf(call)
    const post: Post = { ...parts, era, client, context, line, concurrency }
    answerAll(messages, post)
      .finally(() => clearTimeout(slow))
      .then(() => endOrRefuse(line, context), line.fail)
    return line.answer
  }
}

/** Calls that are cancelled have no replies: who called with a key that ended is told so. */
function endOrRefuse(line: AnswerLine, { ending }: CallContext): void {
  const { reason } = ending.signal
  if (reason instanceof KeyEnded) line.fail(reason.error)
  else line.end()
}

/** Whether an Accept header names this media type; wildcards do not count. */
export function accepts(accept: string | undefined, type: string): boolean {
  return (accept ?? '').split(',').some((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    return name === type && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
  })
}

function isWork({ method }: RequestMessage): boolean {
  return method === 'tools/call'
}

type Post = Omit<Options, 'limits' | 'eras' | 'clientNames'> & {
  era: Era
  client: Client
  context: CallContext
  line: AnswerLine
  concurrency: number
}

/** Answers all messages of a POST; at most `concurrency` tool calls run at once. */
async function answerAll(messages: readonly Message[], post: Post): Promise<void> {
  const { multiplexer, connect, era, client, context, line, concurrency } = post
  const { signal } = context.ending
  const calls: QueuedCall[] = []
  for (const message of messages) {
    if (message.kind === 'request' && isWork(message)) {
      calls.push(enqueue(message, post, calls.length))
    } else if (message.kind === 'request') {
      line.reply(answerAtOnce(message, client, era).printed)
    } else if (message.kind === 'invalid') {
      line.reply([JSON.stringify(malformed(message))])
    } else if (era.takesCancellation && isCancellation(message)) {
      cancelByClient(post, message.params['requestId'])
    }
    // Other notifications, and responses, need no action.
  }
  if (calls.length === 0) return
  const leave = () => {
    for (const { number } of calls) multiplexer.cancel(number)
  }
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  try {
    await connect()
    let next = 0
    const worker = async (): Promise<void> => {
      while (next < calls.length) {
        const { number, ended } = calls[next++]!
        multiplexer.start(number)
        await ended
      }
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, calls.length) }, worker))
  } finally {
    signal.removeEventListener('abort', leave)
    // None is left, unless the server could not be loaded.
    leave()
  }
}

/** The call may be in work at another process, which then has to end it. */
function cancelByClient({ multiplexer, elsewhere, client }: Post, id: unknown): void {
  if (multiplexer.cancelByClient(client, id)) return
  if (typeof id === 'string' || typeof id === 'number') elsewhere.cancel(client, id)
}

/** A call that can be cancelled; `ended` when it is answered, or its handler was cancelled and ended. */
type QueuedCall = { number: number; ended: Promise<void> }

function enqueue(message: RequestMessage, post: Post, index: number) {
  const { multiplexer, era, client, context, line } = post
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const end = (reply: Parameters<AnswerLine['reply']>[0] | undefined) => {
    if (reply !== undefined) line.reply(reply)
    resolve()
  }
  // Unique for each call, which has its own row in the ledger.
  const requestId = index === 0 ? context.requestId : `${context.requestId}_${index + 1}`
  const own = { ...context, requestId }
  const answering = { notify: line.notify, end }
  return { number: multiplexer.add({ era, client, message, context: own, line: answering }), ended }
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
    `This key may have ${callsMax} calls of tools in work at once. Wait for some of them to end.`,
    { retryAfterSeconds: 1 },
  )
}

function malformed({ id, reason }: Extract<Message, { kind: 'invalid' }>) {
  return errorMessage(id, rpcCodes.invalidRequest, reason)
}
