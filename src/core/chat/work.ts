import { deliverWhole, type Answered, type Call, type Whole, type Work } from '../call.ts'
import { dropped, type Model, type Warning } from '../model.ts'
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
import { estimateMissing, estimateAnswer, tokensAsked } from './estimate.ts'
import { finishReasonsOf } from './finish-reasons.ts'
import { lastUserText } from './prompt.ts'
import { orderToolResults, type OrderedToolResults } from './order-tool-results.ts'
import { deliverStream, replayStream, type StreamedChat } from './stream.ts'
import type { UpperUsage } from '../money/upper-cost.ts'
import { upperChatUsage } from './upper-usage.ts'
import type { components } from '../../../generated/types.ts'
import { bodyMembers } from '../../../generated/operations.ts'
import { nearName } from '../words/near-name.ts'
import { fieldHint } from './other-apis.ts'

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
      const usage = counted.outputTokens > 0 ? counted : withEstimates(counted, request, completion)
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

function withEstimates(counted: Usage, request: ChatRequest, { choices }: ChatCompletion): Usage {
  const said = choices.map(({ message }) => message)
  return estimateMissing(counted, estimateAnswer(request, said))
}

type BegunStream = { stream: ChatStream; route: Route; warnings: readonly Warning[] }

/** A streamed conversation; it cannot fail over after its first event. */
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
      const options = { ready: prepared, isStream: true }
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

/** Translates the request for a route at its first try; later tries reuse the translation. */
function preparedChats(request: ChatRequest): (route: Route) => PreparedChat {
  const prepared = new Map<Route, PreparedChat>()
  const settled = orderToolResults(request.messages)
  const hints = fieldHints(request)
  return (route) => {
    const known = prepared.get(route)
    if (known !== undefined) return known
    const plain = settled ? prepareOrdered(route, request, settled) : prepareFor(route, request)
    const written = hints
      ? { ...plain, warnings: withHints(plain.warnings, request, hints) }
      : plain
    prepared.set(route, written)
    return written
  }
}

function prepareOrdered(
  route: Route,
  request: ChatRequest,
  { messages, warnings, asSent }: OrderedToolResults,
): PreparedChat {
  const chat = prepareFor(route, { ...request, messages })
  const all = [...warnings, ...asSent(chat.warnings)]
  return { ...chat, problems: asSent(chat.problems), warnings: all }
}

function prepareFor(route: Route, asked: ChatRequest): PreparedChat {
  const { request, warnings } = showMadePictures(asked, route.model)
  const chat = route.provider.chat?.prepare(request, route) ?? unsupportedChat(route)
  const doubts = doubtfulLimits(request, route.model)
  if (warnings.length + doubts.length === 0) return chat
  return { ...chat, warnings: [...warnings, ...doubts, ...chat.warnings] }
}

function unsupportedChat(route: Route): PreparedChat {
  const refuse = () => Promise.reject(new Error('This route has no chat adapter.'))
  const problems = [noAdapter(route, 'chat')]
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

type Message = ChatRequest['messages'][number]
type ImagePart = components['schemas']['ImagePart']
type TextPart = components['schemas']['TextPart']

type ShownPictures = { request: ChatRequest; warnings: readonly Warning[] }

/** Moves pictures that models drew into a user message, or drops them if the model cannot read pictures. */
function showMadePictures(request: ChatRequest, { row }: Model): ShownPictures {
  if (!request.messages.some((message) => madeBy(message).length > 0)) {
    return { request, warnings: [] }
  }
  if (row.capabilities.vision) return toUserMessages(request)
  const messages = request.messages.map(withoutPictures)
  const hidden = request.messages.flatMap((message, index) =>
    lost(message, index, 'The model does not accept images.'),
  )
  return { request: { ...request, messages }, warnings: hidden }
}

/**
 * Moves pictures into the user's next message, since most vendors take pictures only there. After the results
 * of tools they get a message of their own.
 */
function toUserMessages(request: ChatRequest): ShownPictures {
  const last = request.messages.findLastIndex(({ role }) => role === 'user')
  let made: ImagePart[] = []
  const messages = request.messages.map((message): Message => {
    for (const { type, image_url } of madeBy(message)) made.push({ type, image_url })
    if (message.role !== 'user' || made.length === 0) return withoutPictures(message)
    const content = [...listed(message.content), ...made]
    made = []
    return { ...message, content }
  })
  if (made.length > 0 && messages.at(-1)!.role === 'tool') {
    messages.push({ role: 'user', content: made })
    made = []
  }
  const isLost = made.length > 0
  const warnings = request.messages.flatMap((message, index) =>
    isLost && index > last
      ? lost(message, index, 'Pictures are sent in the next user message, but none follows.')
      : [],
  )
  return { request: { ...request, messages }, warnings }
}

function lost(message: Message, index: number, reason: string): Warning[] {
  const { length } = madeBy(message)
  if (length === 0) return []
  return [{ param: `messages[${index}].images`, requested: countOf(length), applied: null, reason }]
}

function madeBy(message: Message): readonly ImagePart[] {
  return message.role === 'assistant' ? (message.images ?? []) : []
}

/** Vendors refuse an assistant message without content, so a placeholder replaces the pictures. */
function withoutPictures(message: Message): Message {
  if (message.role !== 'assistant' || message.images === undefined) return message
  const { images, ...rest } = message
  const silent = !rest.content?.length && !rest.tool_calls?.length && !rest.refusal
  if (!silent || !images?.length) return rest
  return { ...rest, content: `(${countOf(images.length)})` }
}

function countOf(pictures: number): string {
  return pictures === 1 ? '1 picture' : `${pictures} pictures`
}

function listed(content: Extract<Message, { role: 'user' }>['content']) {
  return typeof content === 'string'
    ? [{ type: 'text', text: content } satisfies TextPart]
    : content
}

const known: readonly string[] = bodyMembers.createChatCompletion
const isKnown: ReadonlySet<string> = new Set(known)

/** A hint for a field outside the contract; `isVendors`: some vendors with OpenAI's format read the field. */
type Hint = { reason: string; isVendors: boolean }
export type FieldHints = ReadonlyMap<string, Hint>

const vendorsFields: ReadonlySet<string> = new Set(['reasoning', 'thinking', 'top_k'])

/** Hints for the fields of a request outside the contract; undefined when there are none. */
export function fieldHints(request: ChatRequest): FieldHints | undefined {
  let hints: Map<string, Hint> | undefined
  for (const name in request) {
    const hint = isKnown.has(name) ? undefined : hintFor(name)
    if (hint !== undefined) (hints ??= new Map()).set(name, hint)
  }
  return hints
}

function hintFor(name: string): Hint | undefined {
  const hint = fieldHint(name)
  if (hint !== undefined) return { reason: hint, isVendors: vendorsFields.has(name) }
  const meant = nearName(name, known)
  if (meant === undefined) return undefined
  return { reason: `The contract has no '${name}'. Did you mean '${meant}'?`, isVendors: false }
}

/**
 * The warnings of a route, with hints as reasons. A field that is passed through also gets a warning, unless
 * it may be vendor-specific.
 */
export function withHints(
  warnings: readonly Warning[],
  request: ChatRequest,
  hints: FieldHints,
): Warning[] {
  const hinted = warnings.map((warning) => {
    const hint = hints.get(warning.param)
    return hint === undefined ? warning : dropped(warning.param, warning.requested, hint.reason)
  })
  const warned = new Set(warnings.map(({ param }) => param))
  for (const [name, { reason, isVendors }] of hints) {
    if (isVendors || warned.has(name)) continue
    const value: unknown = Reflect.get(request, name)
    hinted.push({ param: name, requested: value, applied: value, reason })
  }
  return hinted
}
