import type { CallContext } from '../core/caller.ts'
import { KeyEnded } from '../core/failure.ts'
import { contextOf, type Operation } from '../http/operation.ts'
import { jsonAnswer, openAnswerLine, type AnswerLine } from './answer-line.ts'
import { errorMessage, rpcCodes } from './json-rpc.ts'
import { readMessages, type Message, type MessageLimits, type RequestMessage } from './messages.ts'
import type { AnswerAtOnce } from './methods.ts'
import type { Multiplexer } from './multiplexer.ts'

type Options = {
  multiplexer: Multiplexer
  /** Resolves when the SDK server is connected to the multiplexer. */
  connect: () => Promise<void>
  answerAtOnce: AnswerAtOnce
  limits: MessageLimits & {
    batchCallsConcurrentMax: number
    toolStreamAfterMs: number
  }
}

/** POST /mcp: one message or a batch. */
export function postMcp({ limits, ...parts }: Options): Operation<'postMcp'> {
  return async (call) => {
    const { isBatch, messages } = readMessages(call.body, limits)
    const [first] = messages
    if (!isBatch && first?.kind === 'invalid') return { status: 400, json: refusalOf(first) }
    if (!isBatch && first?.kind === 'request' && !isWork(first)) {
      return jsonAnswer([parts.answerAtOnce(first, call.caller.keyId)])
    }
    const context = contextOf(call, 'mcp')
    const acceptsEvents = accepts(call.request.headers.accept, 'text/event-stream')
    const line = openAnswerLine({ acceptsEvents, isBatch })
    const slow = setTimeout(line.stream, limits.toolStreamAfterMs)
    const concurrency = limits.batchCallsConcurrentMax
    const post: Post = { ...parts, context, line, concurrency }
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

type Post = Omit<Options, 'limits'> & {
  context: CallContext
  line: AnswerLine
  concurrency: number
}

/** Answers all messages of a POST; at most `concurrency` tool calls run at once. */
async function answerAll(messages: readonly Message[], post: Post): Promise<void> {
  const { multiplexer, connect, answerAtOnce, context, line, concurrency } = post
  const requests: RequestMessage[] = []
  for (const message of messages) {
    if (message.kind === 'request' && isWork(message)) requests.push(message)
    else if (message.kind === 'request') line.reply([answerAtOnce(message, context.caller.keyId)])
    else if (message.kind === 'invalid') line.reply([JSON.stringify(refusalOf(message))])
    // Other notifications, and responses, need no action without sessions.
    else if (message.kind === 'notification' && message.method === 'notifications/cancelled') {
      multiplexer.cancelByClient(context.caller.keyId, message.params['requestId'])
    }
  }
  if (requests.length > 0) await connect()
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < requests.length && !context.ending.signal.aborted) {
      const index = next++
      // Unique for each call, which has its own row in the ledger.
      const requestId = index === 0 ? context.requestId : `${context.requestId}_${index + 1}`
      await answerOne(requests[index]!, { ...post, context: { ...context, requestId } })
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, requests.length) }, worker))
}

/** Resolves when the request is answered, or when the handler of a cancelled one has ended. */
function answerOne(message: RequestMessage, { multiplexer, context, line }: Post): Promise<void> {
  return new Promise((resolve) => {
    const { signal } = context.ending
    const leave = () => multiplexer.cancel(number)
    const end = (reply: Parameters<AnswerLine['reply']>[0] | undefined) => {
      signal.removeEventListener('abort', leave)
      if (reply !== undefined) line.reply(reply)
      resolve()
    }
    const number = multiplexer.send({ message, context, line: { notify: line.notify, end } })
    signal.addEventListener('abort', leave, { once: true })
  })
}

function refusalOf({ id, reason }: Extract<Message, { kind: 'invalid' }>) {
  return errorMessage(id, rpcCodes.invalidRequest, reason)
}
