import { fail, openCall, replay, type Call, type CallParts, type Work } from './call.ts'
import type { CallContext } from './caller.ts'
import type { Cassette } from './cassette.ts'
import type { OpenCassette } from './play-cassette.ts'
import type { ChatInputs } from './chat/chat.ts'
import { countInput } from './chat/count-input.ts'
import type { ReadParts } from './chat/read-chat.ts'
import { chatStreamWork, chatWork } from './chat/work.ts'
import type { Deadline } from './resilience/deadline.ts'
import type { AbandonedCalls } from './resilience/ending.ts'
import type { EmbeddingRequest } from './embedding/embedding.ts'
import { embeddingWork } from './embedding/work.ts'
import { toGatewayError, type Progress } from './error.ts'
import { ProviderFailure, UnknownOutcome } from './failure.ts'
import type { ReadSources } from './image/image.ts'
import type { ImageParts } from './image/run.ts'
import { imageWork, type ImageInputs } from './image/work.ts'
import { isBudgeted, type Admit } from './limits.ts'
import { shortenedWarnings, type CallInputs, type Model } from './model.ts'
import type { ModerationRequest } from './moderation/moderation.ts'
import { moderationWork } from './moderation/work.ts'
import { cacheKey } from './repeats/cache-key.ts'
import {
  type Deduplication,
  answerSharer,
  type Joined,
  type SharerParts,
  type Making,
} from './repeats/in-flight.ts'
import type { CachedAnswer } from './repeats/cached-answer.ts'
import { isCharged, type ProviderStates } from './provider-states.ts'
import { quotesOf, type Quotes } from './money/quote.ts'
import { selectRoutes, type FoundRoutes, type Route, type RouteTable } from './route.ts'
import { upperCostsOf, type Reservation, type Reserve } from './money/upper-cost.ts'

export type GatewayParts = ImageParts &
  CallParts &
  SharerParts &
  ReadParts &
  Deduplication & {
    /** Throws a GatewayError while calls cannot be recorded, before a provider charges for one. */
    assertWritable: () => void
    admit: Admit
    /** Opens the cassette of a caller that has one. */
    openCassette: OpenCassette
    playedFor: ProviderStates['playedFor']
    /** A digest of the settings that decide what answers a model name, such as routes and aliases. */
    settingsDigest: string
    abandonedCalls: AbandonedCalls
    reserve: Reserve
    readCache: (key: string) => CachedAnswer | undefined
    /** Looks an answer up in the shared cache in Redis; absent without Redis. */
    readSharedCache?: ((key: string) => Promise<CachedAnswer | undefined>) | undefined
    routes: RouteTable['routes']
    orderRoutes: (routes: readonly Route[]) => readonly Route[]
    readSources: ReadSources
    onRouted: (context: CallContext, routes: readonly Route[]) => void
    /** Finds the model of a cached answer; undefined for a model that only another process has. */
    findModel: (id: string) => Model | undefined
    limits: {
      chatTimeoutMs: number
      imageTimeoutMs: number
      imageCallsConcurrentMax: number
    }
  }

export type Gateway = ReturnType<typeof createGateway>

/**
 * The sequence of every call, for all APIs (ARCHITECTURE.md#the-life-of-a-request).
 *
 * @example
 * const gateway = createGateway(parts)
 * const models = modelsOf(request, context.caller, gateway.find)
 * const { result, usage, receipt } = await gateway.chat({ request, models }, context)
 */
export function createGateway(parts: GatewayParts) {
  const { find, checkPicture, limits } = parts
  const { chatTimeoutMs, imageTimeoutMs } = limits
  const chatOf = (inputs: ChatInputs, { strict }: CallContext) => chatWork(inputs, parts, strict)
  const imageOf = (inputs: ImageInputs) => imageWork({ inputs, parts, timeoutMs: imageTimeoutMs })
  const embeddingOf = (inputs: CallInputs<EmbeddingRequest>) => embeddingWork(inputs, chatTimeoutMs)
  return {
    find,
    checkPicture,
    /** Starts one deadline for all calls of a request that makes several; `clear` must be called. */
    deadline: ({ ending }: Pick<CallContext, 'ending'>): Deadline =>
      parts.startDeadline(ending, chatTimeoutMs, parts.monotonic()),
    /** Answers a conversation with a language model. Throws a GatewayError. */
    chat: (inputs: ChatInputs, context: CallContext) =>
      pass(parts, context, chatOf(inputs, context)),
    /** Answers a conversation as a stream; resolves when the first event has arrived. */
    chatStream: (inputs: ChatInputs, context: CallContext) =>
      pass(parts, context, chatStreamWork(inputs, parts, context.strict)),
    /** Makes `n` pictures, from input pictures if given. Throws a GatewayError unless all are made. */
    image: (inputs: ImageInputs, context: CallContext) => pass(parts, context, imageOf(inputs)),
    /** Makes a vector of each text, in the same order. Throws a GatewayError unless all are made. */
    embed: (inputs: CallInputs<EmbeddingRequest>, context: CallContext) =>
      pass(parts, context, embeddingOf(inputs)),
    /** Classifies texts and pictures as harmful or not. Throws a GatewayError. */
    moderate: (inputs: CallInputs<ModerationRequest>, context: CallContext) =>
      pass(parts, context, moderationWork(inputs, chatTimeoutMs)),
    /** Counts the input tokens of a conversation, free of charge (core/chat/count-input.ts). */
    countInput: (inputs: ChatInputs, context: Pick<CallContext, 'caller' | 'ending' | 'memory'>) =>
      countInput(parts, inputs, context),
    /** The cost of a conversation, without a call. Throws the GatewayError that would refuse the call. */
    quoteChat: (inputs: ChatInputs, context: CallContext) =>
      quote(parts, context, chatOf(inputs, context)),
    /** The cost of pictures, without a call; input pictures are not fetched. */
    quoteImage: (inputs: ImageInputs, context: CallContext) =>
      quote(parts, context, imageOf(inputs)),
    /** The cost of vectors, without a call. */
    quoteEmbedding: (inputs: CallInputs<EmbeddingRequest>, context: CallContext) =>
      quote(parts, context, embeddingOf(inputs)),
  }
}

/** The steps of a call: admit, choose routes, read the cache, fail over, record, write the cache. */
async function pass<Outcome, Answer>(
  parts: GatewayParts,
  context: CallContext,
  work: Work<Outcome, Answer>,
): Promise<Answer> {
  work.checkRequest?.()
  parts.assertWritable()
  const { caller } = context
  const cassette = caller.cassette === undefined ? undefined : await parts.openCassette(caller)
  const admitting = parts.admit(caller, work.demand, work.timeoutMs)
  // `await` on a plain value would still cost a microtask, so only promises are awaited.
  const admission = admitting instanceof Promise ? await admitting : admitting
  const { modality, models, timeoutMs } = work
  const start = { context, modality, model: models[0].name, timeoutMs }
  const call = openCall(parts, { ...start, admission, cassette })
  let making: Making<CachedAnswer> | undefined
  let progress: Progress = {}
  try {
    // Routes come before the cache: the cache must not answer for a model that the key may not call.
    const finding = parts.routes(models, caller)
    const able = finding instanceof Promise ? await finding : finding
    progress = { model: able.routes[0]!.model.row }
    const choice = selectFor(parts, context, { able, work, atMs: call.startedAt, cassette })
    const reading = work.read?.(call)
    if (reading !== undefined) await reading
    let others = context.memory.yieldIfLarge()
    if (others !== undefined) await others
    const key = keyOf(parts, context, work)
    const joining = key === undefined ? undefined : findAnswer(parts, context, key, work, call)
    const found = joining instanceof Promise ? await joining : joining
    making = found?.making
    // Waits for the answer of an identical call in another process.
    const elsewhere = context.cache.mayRead ? making?.elsewhere(call.deadline.signal) : undefined
    const known = found?.answer ?? (elsewhere && (await elsewhere))
    const knownModel = known && parts.findModel(known.modelId)
    if (known !== undefined && knownModel !== undefined) {
      making?.succeed(known)
      return work.replay(known, await replay(call, knownModel, known))
    }
    others = context.memory.yieldIfLarge()
    if (others !== undefined) await others
    if (context.isRepeat) assertRepeatable(context, work)
    const reserving = reserveFor(parts, context, { work, choice, call })
    if (reserving !== undefined) call.reservation = await reserving
    if (caller.played !== undefined) call.played = await parts.playedFor(caller)
    // The call continues after a disconnect, since the provider charges for the whole answer anyway.
    if (work.isShared || context.vendorKey !== undefined) {
      const [, { ownerId }] = caller.allowances
      context.ending.continueAfterDisconnect(parts.abandonedCalls, ownerId)
    }
    parts.onRouted(context, choice.selection.routes)
    const made = await work.make(call, choice.selection)
    const share = key === undefined ? undefined : answerSharer(parts, context, key, making)
    return await work.deliver(made, { call, warnings: choice.warnings, share })
  } catch (thrown) {
    // Callers that wait for this answer are released even when its row cannot be written.
    const error = await fail(call, thrown).catch(toGatewayError)
    making?.fail(error)
    // Joined calls share the error, but each call has its own progress.
    throw error.after({ ...progress, ...progressOf(call) })
  }
}

/** The attempts and limits of the call so far, for the headers of an error. */
function progressOf({ tries, admission }: Call): Progress {
  const model = tries.at(-1)?.route.model.row
  const progress = { attempts: tries.map(({ attempt }) => attempt), limits: admission.limits() }
  return model === undefined ? progress : { ...progress, model }
}

type RoutedWork<Outcome, Answer> = {
  able: FoundRoutes
  work: Work<Outcome, Answer>
  atMs: number
  cassette?: Cassette | undefined
}

/** The routes that support the request. Throws a GatewayError when there are none. */
function selectFor<Outcome, Answer>(
  parts: Pick<GatewayParts, 'orderRoutes'>,
  { caller, tags, strict, fallback, warnings: adjusted = [] }: CallContext,
  { able, work, atMs, cassette }: RoutedWork<Outcome, Answer>,
) {
  const warnings = [...adjusted, ...work.warnings, ...able.warnings]
  const listed = withoutSkipped(able.routes, work)
  const routes = cassette?.plays ? cassette.order(listed) : parts.orderRoutes(listed)
  // Calls with a test key cost nothing.
  const costs = isCharged(caller) && isBudgeted(caller, tags) ? upperCostsOf(work, atMs) : undefined
  const { check } = costs ?? work
  const selection = selectRoutes({ routes, check, warnings, strict, fallback })
  return { selection, warnings, costs }
}

type Reserved = {
  work: Pick<Work<unknown, unknown>, 'modality' | 'timeoutMs'>
  choice: ReturnType<typeof selectFor>
  call: Call
}

/** Reserves the maximum cost of the call; undefined when no budget applies. */
function reserveFor(
  { reserve }: GatewayParts,
  { caller, tags, requestId, face }: CallContext,
  { work: { modality, timeoutMs }, choice, call }: Reserved,
): Promise<Reservation> | undefined {
  const { routes } = choice.selection
  const nanoUsd = choice.costs?.most(routes) ?? 0
  if (nanoUsd === 0) return undefined
  const { id: model } = routes[0]!.model.row
  const [at, { signal }] = [call.startedAt, call.deadline]
  return reserve({ caller, tags, requestId, at, timeoutMs, signal, face, modality, model, nanoUsd })
}

/** The cost of the request, without a call. Throws the GatewayError that would refuse the call. */
async function quote<Outcome, Answer>(
  parts: GatewayParts,
  context: CallContext,
  work: Work<Outcome, Answer>,
): Promise<Quotes> {
  work.checkRequest?.()
  const atMs = parts.clock()
  const able = await parts.routes(work.models, context.caller)
  const { selection, warnings } = selectFor(parts, context, { able, work, atMs })
  return { routes: quotesOf(selection, work, atMs), warnings: shortenedWarnings(warnings) }
}

/** Throws an UnknownOutcome for a picture that a process may have requested before it ended. */
function assertRepeatable(
  { allowRepeat }: CallContext,
  { modality }: Pick<Work<unknown, unknown>, 'modality'>,
): void {
  if (allowRepeat || modality !== 'image') return
  const text = 'The gateway was stopped while it made this picture.'
  throw new UnknownOutcome(new ProviderFailure('unreachable', text))
}

function withoutSkipped(
  routes: readonly Route[],
  work: Pick<Work<unknown, unknown>, 'prompt'>,
): readonly Route[] {
  if (routes.every(({ provider }) => provider.skipsPrompt === undefined)) return routes
  const prompt = work.prompt()
  return routes.filter(({ provider }) => provider.skipsPrompt?.(prompt) !== true)
}

type Cached = Pick<Work<unknown, unknown>, 'modality' | 'canonical' | 'isNeverCached'>

function keyOf(
  { settingsDigest }: GatewayParts,
  context: CallContext,
  { modality, canonical, isNeverCached }: Cached,
): string | undefined {
  if (isNeverCached) return undefined
  const { caller, strict, fallback, cache } = context
  if (!cache.mayRead && !cache.mayStore) return undefined
  const { warnings } = context
  // A cached answer contains its warnings, so the warnings are part of the key.
  const request = warnings === undefined ? canonical() : [canonical(), warnings]
  return cacheKey({ caller, strict, fallback, settingsDigest }, modality, request)
}

/**
 * The cached answer of a call, the answer of an identical call in flight, or the right to make the answer for
 * such calls; undefined when the answer is not shared.
 */
function findAnswer(
  { inFlight, readCache: find, readSharedCache }: GatewayParts,
  { cache, begin }: CallContext,
  key: string,
  work: Pick<Work<unknown, unknown>, 'isShared'>,
  { deadline: { signal } }: Pick<Call, 'deadline'>,
): Promise<Joined<CachedAnswer> | undefined> | Joined<CachedAnswer> | undefined {
  const isShared = work.isShared && begin === undefined
  if (!cache.mayRead) return isShared ? { making: inFlight.begin(key) } : undefined
  const running = isShared ? inFlight.find(key, signal) : undefined
  if (running !== undefined) return running
  const answer = find(key)
  if (answer !== undefined) return { answer }
  if (isShared) return { making: inFlight.begin(key) }
  return readSharedCache?.(key).then((shared) => shared && { answer: shared })
}
