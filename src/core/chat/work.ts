import { deliverWhole, tryRoutes, type Answered, type Call, type Work } from '../call.ts'
import type { Whole } from '../receipt.ts'
import { dropped, joined, type Model, type Warning } from '../model.ts'
import type { Usage } from '../money/price.ts'
import { noAdapter, type Route } from '../route.ts'
import type {
  ChatAnswer,
  ChatCompletion,
  ChatInputs,
  ChatRequest,
  ChatResult,
  ChatStream,
  ChatTurn,
  NativeAnswer,
  NativeRequest,
  PreparedChat,
} from './chat.ts'
import { checkConversation, doubtfulLimits, modelProblems } from './check.ts'
import { estimateMissing, estimateAnswer, tokenDemand } from './estimate.ts'
import { finishReasonsOf } from './finish-reasons.ts'
import { showMadePictures, fitted, withEnds, type PictureParts } from './pictures.ts'
import { placeResultMedia } from './media.ts'
import { lastUserText } from './prompt.ts'
import { orderToolResults, type OrderedToolResults } from './order-tool-results.ts'
import { deliverStream, replayStream, type StreamedChat } from './stream.ts'
import type { UpperUsage } from '../money/upper-cost.ts'
import { upperChatUsage } from './upper-usage.ts'
import { bodyMembers } from '../../../generated/operations.ts'
import { nearName } from '../words/near-name.ts'
import { fieldHint } from './other-apis.ts'

type ChatParts = PictureParts & { limits: { chatTimeoutMs: number } }
/** The request as it is sent, which `read` changes if pictures of it are changed. */
type SentRequest = {
  request: ChatRequest
  native: NativeRequest | undefined
  warnings: readonly Warning[]
}
type TryRoute<T> = (route: Route, turn: ChatTurn) => Promise<T>

/** A conversation with a language model, answered in one piece. */
export function chatWork(
  inputs: ChatInputs,
  parts: ChatParts,
  strict: boolean,
): Work<Whole<ChatResult>, Answered<ChatResult>> {
  const { request, prepared, steps } = conversation(inputs, parts, strict)
  return {
    ...steps,
    ready: prepared,
    isShared: true,
    make: async (call, selection) => {
      const attempt: TryRoute<ChatAnswer> = (route, turn) => prepared(route).complete(turn)
      const { value, route } = await tryRoutes(call, selection, attempt, { ready: prepared })
      const { completion, usage: counted, bytes, native: asItCame } = value
      const usage = counted.outputTokens > 0 ? counted : withEstimates(counted, request, completion)
      call.context.trace?.answered?.({
        id: completion.id,
        finishReasons: finishReasonsOf(completion),
      })
      const plain = { completion, text: JSON.stringify(completion) }
      const result = asItCame === undefined ? plain : { ...plain, native: asItCame }
      const warnings = warningsOf(prepared(route), asItCame !== undefined)
      return { route, usage, servedModel: completion.model, result, bytes, warnings }
    },
    deliver: (whole, delivery) =>
      deliverWhole(whole, delivery, ({ text, native: kept }): CachedChat => {
        const native = kept && { native: Buffer.from(JSON.stringify(kept)) }
        return { text: Buffer.from(text), ...native }
      }),
    // Only `deliver` writes under the cache key of a request that is not streamed.
    replay: ({ result, usage }, receipt) => ({
      result: cachedResult(result as CachedChat),
      usage,
      receipt,
    }),
  }
}

/** A ChatResult as the cache keeps it: JSON of the completion and of the native answer. */
type CachedChat = { text: Buffer; native?: Buffer }

function cachedResult({ text: bytes, native }: CachedChat): ChatResult {
  const text = String(bytes)
  const kept = native && { native: JSON.parse(String(native)) as NativeAnswer }
  return { text, completion: JSON.parse(text) as ChatCompletion, ...kept }
}

/** A request that is sent verbatim has the warnings of its translation only if the vendor refused it. */
type Prepared = PreparedChat & { ifTranslated?: readonly Warning[] }

function warningsOf({ warnings, ifTranslated }: Prepared, isAsItCame: boolean): readonly Warning[] {
  return isAsItCame ? warnings : (ifTranslated ?? warnings)
}

function withEstimates(counted: Usage, request: ChatRequest, { choices }: ChatCompletion): Usage {
  const said = choices.map(({ message }) => message)
  return estimateMissing(counted, estimateAnswer(request, said))
}

type RoutedStream = { stream: ChatStream; route: Route; warnings: readonly Warning[] }

/** A streamed conversation; it cannot fail over after its first event. */
export function chatStreamWork(
  inputs: ChatInputs,
  parts: ChatParts,
  strict: boolean,
): Work<RoutedStream, StreamedChat> {
  const { request, prepared, steps } = conversation(inputs, parts, strict)
  return {
    ...steps,
    isShared: false,
    make: async (call, selection) => {
      const attempt: TryRoute<ChatStream> = (route, turn) => prepared(route).stream(turn)
      const options = { ready: prepared, isStream: true }
      const { value: stream, route } = await tryRoutes(call, selection, attempt, options)
      const warnings = warningsOf(prepared(route), stream.isNative === true)
      return { stream, route, warnings }
    },
    deliver: async (stream, delivery) => deliverStream({ ...stream, request, delivery }),
    replay: replayStream,
  }
}

function conversation({ models, ...inputs }: ChatInputs, parts: ChatParts, strict: boolean) {
  const request = { ...inputs.request }
  const native = inputs.native && { ...inputs.native, isTranslatable: !strict }
  const sent: SentRequest = { request, native, warnings: [] }
  let upperUsage: ((model: Model) => UpperUsage) | undefined
  const steps = {
    modality: 'chat' as const,
    models,
    timeoutMs: parts.limits.chatTimeoutMs,
    warnings: [],
    checkRequest: () => checkConversation(request),
    prompt: () => lastUserText(request),
    demand: { images: 0, tokens: () => tokenDemand(request) },
    // The pages that a search finds change.
    isNeverCached: request.web_search_options != null,
    check: (route: Route) => ({ problems: modelProblems(request, route.model), warnings: [] }),
    read: (call: Call) =>
      withEnds(request, parts.readSources, call)?.then((ended) => {
        if (ended === undefined) return
        request.messages = ended.request.messages
        sent.warnings = ended.warnings ?? []
        if (native === undefined || native.only !== undefined) return
        sent.native = undefined
        sent.warnings = [...sent.warnings, ...native.lost]
      }),
    upperUsage: ({ model }: Route) => (upperUsage ??= upperChatUsage(request))(model),
    canonical: () =>
      native === undefined ? request : [request, native.api, native.body, native.headers],
  }
  return { request, prepared: preparedChats(sent, parts), steps }
}

/** Translates the request for a route at its first try; later tries reuse the translation. */
function preparedChats(sent: SentRequest, parts: ChatParts): (route: Route) => Prepared {
  const { request } = sent
  const translated: { route: Route; chat: Prepared }[] = []
  return (route) => {
    const known = translated.find((one) => one.route === route)
    if (known !== undefined) return known.chat
    const { native } = sent
    const settled = orderToolResults(request.messages)
    const hints = fieldHints(request)
    const chat = settled
      ? prepareOrdered({ route, parts }, request, settled)
      : prepareFor({ route, parts }, request, native)
    const plain = native === undefined ? chat : withLosses(chat, native, route)
    const hinted = hints ? withHints(plain.warnings, request, hints) : plain.warnings
    const written = { ...plain, warnings: joined(hinted, sent.warnings) }
    translated.push({ route, chat: written })
    return written
  }
}

function withLosses(chat: PreparedChat, { lost, only }: NativeRequest, route: Route): Prepared {
  const ifTranslated = joined(chat.warnings, lost)
  const isAsItCame = chat.isNative === true
  const { id } = route.provider
  if (only !== undefined && !(isAsItCame && id === (only.providerId ?? id))) {
    return { ...chat, problems: [...chat.problems, only.problem] }
  }
  return isAsItCame ? { ...chat, warnings: [], ifTranslated } : { ...chat, warnings: ifTranslated }
}

type Place = { route: Route; parts: PictureParts }

function prepareOrdered(
  place: Place,
  request: ChatRequest,
  { messages, warnings, asSent }: OrderedToolResults,
): PreparedChat {
  const chat = prepareFor(place, { ...request, messages })
  const all = [...warnings, ...asSent(chat.warnings)]
  return { ...chat, problems: asSent(chat.problems), warnings: all }
}

function prepareFor(
  place: Place,
  request: ChatRequest,
  native?: NativeRequest,
  refused?: Parameters<typeof placeResultMedia>[2],
): PreparedChat {
  const placed = placeResultMedia(request.messages, place.route, refused)
  if (placed === undefined) return prepareShown(place, request, native)
  const { messages, warnings, asSent, hiddenFor } = placed
  const isWhole = warnings.length === 0
  const chat = prepareShown(place, { ...request, messages }, isWhole ? native : undefined)
  const problems = asSent(chat.problems)
  const hidden = hiddenFor(problems)
  if (hidden !== undefined) return prepareFor(place, request, native, hidden)
  return { ...chat, problems, warnings: [...warnings, ...asSent(chat.warnings)] }
}

function prepareShown(place: Place, original: ChatRequest, native?: NativeRequest): PreparedChat {
  const { route } = place
  const { request, warnings } = showMadePictures(original, route.model)
  const plain = route.provider.chat?.prepare(request, route, native) ?? unsupportedChat(route)
  const chat = fitted(plain, request, place)
  const doubts = doubtfulLimits(request, route.model)
  if (warnings.length + doubts.length === 0) return chat
  return { ...chat, warnings: [...warnings, ...doubts, ...chat.warnings] }
}

function unsupportedChat(route: Route): PreparedChat {
  const refuse = () => Promise.reject(new Error('This route has no chat adapter.'))
  const problems = [noAdapter(route, 'chat')]
  return { problems, warnings: [], complete: refuse, stream: refuse }
}

const known: readonly string[] = bodyMembers.createChatCompletion
const isKnown: ReadonlySet<string> = new Set(known)

/** A hint for a field outside the contract; `isVendors`: some vendors with OpenAI's format read the field. */
type Hint = { reason: string; isVendors: boolean }
type FieldHints = ReadonlyMap<string, Hint>

const vendorsFields: ReadonlySet<string> = new Set(['reasoning', 'thinking', 'top_k'])

/** Hints for the fields of a request outside the contract; undefined when there are none. */
function fieldHints(request: ChatRequest): FieldHints | undefined {
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
function withHints(
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
