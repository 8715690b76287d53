import { deliverWhole, type Answered, type Call, type Whole, type Work } from '../call.ts'
import type { Model, Warning } from '../model.ts'
import type { Usage } from '../money/price.ts'
import { noAdapter, type Route } from '../route.ts'
import type { TraceHeaders } from '../trace.ts'
import type {
  ChatAnswer,
  ChatCompletion,
  ChatRequest,
  ChatResult,
  ChatStream,
  ChatTurn,
  PreparedChat,
} from './chat.ts'
import { doubtfulLimits, modelProblems } from './check.ts'
import { doubted, estimateAnswer, tokensAsked } from './estimate.ts'
import { finishReasonsOf } from './finish-reasons.ts'
import { tellMadePictures } from './made-pictures.ts'
import { lastUserText } from './prompt.ts'
import { settledCalls, type SettledCalls } from './settled-calls.ts'
import { fieldHints, withHints } from './strange-fields.ts'
import { deliverStream, replayStream, type StreamedChat } from './stream.ts'
import type { UpperUsage } from '../money/upper-cost.ts'
import { upperChatUsage } from './upper-usage.ts'

type Attempt<T> = (route: Route, traceHeaders: TraceHeaders | undefined) => Promise<T>

/** A conversation with a language model, answered in one piece. */
export function chatWork(
  request: ChatRequest,
  timeoutMs: number,
): Work<Whole<ChatResult>, Answered<ChatResult>> {
  const prepared = preparedChats(request)
  return {
    ...conversation(request, timeoutMs),
    ready: prepared,
    isShared: true,
    make: async (call, selection) => {
      const attempt: Attempt<ChatAnswer> = (route, traceHeaders) =>
        prepared(route).complete(turnOf(call, traceHeaders))
      const { value, route } = await call.tryRoutes(selection, attempt, { ready: prepared })
      const { completion, usage: counted, bytes } = value
      const usage = counted.outputTokens > 0 ? counted : doubtedOf(counted, request, completion)
      call.trace?.answered?.({ id: completion.id, finishReasons: finishReasonsOf(completion) })
      const result = { completion, text: JSON.stringify(completion) }
      const { warnings } = prepared(route)
      return { route, usage, servedModel: completion.model, result, bytes, warnings }
    },
    deliver: (made, delivery) => deliverWhole(made, delivery, ({ text }) => Buffer.from(text)),
    replay: ({ result, usage }, receipt) => {
      const text = String(result)
      // `deliver` cached the JSON of a ChatCompletion.
      const completion = JSON.parse(text) as ChatCompletion
      return { result: { completion, text }, usage, receipt }
    },
  }
}

function doubtedOf(counted: Usage, request: ChatRequest, { choices }: ChatCompletion): Usage {
  const said = choices.map(({ message }) => message)
  return doubted(counted, estimateAnswer(request, said))
}

type BegunStream = { stream: ChatStream; route: Route; warnings: readonly Warning[] }

/** The same as a stream, which cannot fail over after its first event. */
export function chatStreamWork(
  request: ChatRequest,
  limits: { chatTimeoutMs: number },
): Work<BegunStream, StreamedChat> {
  const prepared = preparedChats(request)
  return {
    ...conversation(request, limits.chatTimeoutMs),
    isShared: false,
    make: async (call, selection) => {
      const attempt: Attempt<ChatStream> = (route, traceHeaders) =>
        prepared(route).stream(turnOf(call, traceHeaders))
      const options = { ready: prepared, goesOn: true }
      const { value: stream, route } = await call.tryRoutes(selection, attempt, options)
      return { stream, route, warnings: prepared(route).warnings }
    },
    deliver: async (begun, delivery) => deliverStream({ ...begun, request, delivery }),
    replay: replayStream,
  }
}

function conversation(request: ChatRequest, timeoutMs: number) {
  let upperUsage: ((model: Model) => UpperUsage) | undefined
  return {
    modality: 'chat' as const,
    models: [request.model, ...(request.models ?? [])],
    timeoutMs,
    warnings: [],
    prompt: () => lastUserText(request),
    demand: { images: 0, tokens: () => tokensAsked(request) },
    check: (route: Route) => ({ problems: modelProblems(request, route.model), warnings: [] }),
    upperUsage: ({ model }: Route) => (upperUsage ??= upperChatUsage(request))(model),
    canonical: () => request,
  }
}

/** Translates the request for a route at its first try; later tries reuse that. */
function preparedChats(request: ChatRequest): (route: Route) => PreparedChat {
  const prepared = new Map<Route, PreparedChat>()
  const settled = settledCalls(request.messages)
  const hints = fieldHints(request)
  return (route) => {
    const known = prepared.get(route)
    if (known !== undefined) return known
    const plain = settled ? prepareSettled(route, request, settled) : prepareFor(route, request)
    const written = hints
      ? { ...plain, warnings: withHints(plain.warnings, request, hints) }
      : plain
    prepared.set(route, written)
    return written
  }
}

function prepareSettled(
  route: Route,
  request: ChatRequest,
  { messages, warnings, asSent }: SettledCalls,
): PreparedChat {
  const chat = prepareFor(route, { ...request, messages })
  const told = [...warnings, ...asSent(chat.warnings)]
  return { ...chat, problems: asSent(chat.problems), warnings: told }
}

function prepareFor(route: Route, asked: ChatRequest): PreparedChat {
  const { request, warnings } = tellMadePictures(asked, route.model)
  const chat = route.provider.chat?.prepare(request, route) ?? unable(route)
  const doubts = doubtfulLimits(request, route.model)
  if (warnings.length + doubts.length === 0) return chat
  return { ...chat, warnings: [...warnings, ...doubts, ...chat.warnings] }
}

function unable(route: Route): PreparedChat {
  const refuse = () => Promise.reject(new Error('This route was set aside.'))
  const problems = [noAdapter(route, 'answers')]
  return { problems, warnings: [], complete: refuse, stream: refuse }
}

function turnOf(
  { deadline, hold, startedAt, nextVendorKey }: Call,
  traceHeaders: TraceHeaders | undefined,
): ChatTurn {
  const createdSeconds = Math.floor(startedAt / 1000)
  const { signal } = deadline
  return { signal, hold, createdSeconds, idempotencyKey: nextVendorKey(), traceHeaders }
}
