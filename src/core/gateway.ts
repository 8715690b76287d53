import { openCall, type Answered, type CallParts, type Delivery, type Work } from './call.ts'
import type { CallContext } from './caller.ts'
import type { ChatRequest, ChatResult } from './chat/chat.ts'
import { checkConversation } from './chat/check.ts'
import type { StreamedChat } from './chat/stream.ts'
import { chatStreamWork, chatWork } from './chat/work.ts'
import type { LeftCalls } from './ending.ts'
import { toGatewayError, type Progress } from './error.ts'
import { ProviderFailure, UnknownOutcome } from './failure.ts'
import { yieldIfLarge } from '../bytes/yield-if-large.ts'
import type { AskedImage, ImageResult, ReadSources } from './image/image.ts'
import type { ImageParts } from './image/run.ts'
import { imageWork, type ImageInputs } from './image/work.ts'
import type { Admit } from './limits.ts'
import type { Model } from './model.ts'
import { cacheKey } from './recall/cache-key.ts'
import type { Joined, Making } from './recall/in-flight.ts'
import type { Recollection } from './recall/recollection.ts'
import type { Remembered } from './recall/remembered.ts'
import { quotesOf, type Quotes } from './quote.ts'
import { selectRoutes, type FoundRoutes, type Route, type RouteTable } from './route.ts'
import { hasBudget, upperCostsOf, type Reserve } from './spending.ts'
import { shortenedWarnings } from './words/shorten-warnings.ts'

/** The dependencies of the core. */
export type GatewayParts = ImageParts &
  CallParts &
  Recollection & {
    /** Throws a GatewayError while calls cannot be recorded: then no provider is paid for one. */
    assertKeeps: () => void
    admit: Admit
    /** Changes with the settings by which the name of a model leads to an answer. */
    settingsDigest: string
    leftCalls: LeftCalls
    /** Holds what a call may cost of the caller's budgets. */
    reserve: Reserve
    /** Looks an answer up in the response cache. */
    recall: (key: string) => Remembered | undefined
    /** Looks it up in the far cache, where there is one. */
    recallFar?: ((key: string) => Promise<Remembered | undefined>) | undefined
    /**
     * Stores an answer in the response cache; `ttlMs` overrides the default lifetime. Whether other
     * processes find it; undefined when they do not.
     */
    remember: (
      key: string,
      answer: Remembered,
      ttlMs: number | undefined,
    ) => Promise<boolean> | undefined
    routes: RouteTable['routes']
    /** Puts the best routes first. */
    orderRoutes: (routes: Route[]) => Route[]
    readSources: ReadSources
    /** Told of an error behind an answer that is out already. */
    onFault: (error: unknown) => void
    /** Undefined for a model that an answer of another process names, and that is not known here. */
    findModel: (id: string) => Model | undefined
    limits: {
      chatTimeoutMs: number
      imageTimeoutMs: number
      imageCallsConcurrentMax?: number
    }
  }

export type Gateway = {
  /** Answers a conversation with a language model. Throws a GatewayError. */
  chat(request: ChatRequest, context: CallContext): Promise<Answered<ChatResult>>
  /** The same as a stream; resolves when the first event has arrived. */
  chatStream(request: ChatRequest, context: CallContext): Promise<StreamedChat>
  /** Makes `n` pictures, from inputs if given. Throws a GatewayError unless all are made. */
  image(
    request: AskedImage,
    context: CallContext,
    inputs?: ImageInputs,
  ): Promise<Answered<ImageResult>>
  /** What a conversation would cost. Throws the GatewayError that would refuse it. */
  quoteChat(request: ChatRequest, context: CallContext): Promise<Quotes>
  /** The same of pictures; their inputs are not read. */
  quoteImage(request: AskedImage, context: CallContext, inputs?: ImageInputs): Promise<Quotes>
}

/** The sequence that every call of any face passes (ARCHITECTURE.md, One sequence). */
export function createGateway(parts: GatewayParts): Gateway {
  const { chatTimeoutMs, imageTimeoutMs } = parts.limits
  const imageWorkOf = (request: AskedImage, inputs: ImageInputs | undefined) =>
    imageWork({ request, inputs, parts, timeoutMs: imageTimeoutMs })
  return {
    chat: async (request, context) => {
      checkConversation(request)
      return pass(parts, context, chatWork(request, chatTimeoutMs))
    },
    chatStream: async (request, context) => {
      checkConversation(request)
      return pass(parts, context, chatStreamWork(request, parts.limits))
    },
    image: (request, context, inputs) => pass(parts, context, imageWorkOf(request, inputs)),
    quoteChat: async (request, context) => {
      checkConversation(request)
      return quote(parts, context, chatWork(request, chatTimeoutMs))
    },
    quoteImage: (request, context, inputs) => quote(parts, context, imageWorkOf(request, inputs)),
  }
}

/** Admit, choose routes, recall, fail over, record, remember. */
async function pass<Made, Answer>(
  parts: GatewayParts,
  context: CallContext,
  work: Work<Made, Answer>,
): Promise<Answer> {
  parts.assertKeeps()
  const admission = await parts.admit(context.caller, work.demand, work.timeoutMs)
  const { modality, models, timeoutMs } = work
  const call = openCall(parts, { context, modality, model: models[0]!, timeoutMs, admission })
  let making: Making<Remembered> | undefined
  let asked: Progress = {}
  try {
    // Before the cache lookup: a key must not get from the cache what it may not call.
    const looked = parts.routes(models, context.caller)
    const able = looked instanceof Promise ? await looked : looked
    asked = { model: able.routes[0]!.model.row }
    const { selection, warnings, costs } = selectFor(parts, context, {
      able,
      work,
      atMs: call.startedAt,
    })
    if (work.read !== undefined) await work.read({ signal: call.deadline.signal, hold: call.hold })
    const others = yieldIfLarge(context.hold)
    if (others !== undefined) await others
    const key = keyOf(parts, context, work)
    const signal = work.isShared ? call.deadline.signal : undefined
    const recalled = recall(parts, context, key, signal)
    const found = recalled instanceof Promise ? await recalled : recalled
    making = found?.making
    const elsewhere = context.cache.recall && signal && making?.elsewhere(signal)
    const known = found?.answer ?? (elsewhere ? await elsewhere : undefined)
    const model = known && parts.findModel(known.modelId)
    if (known !== undefined && model !== undefined) {
      making?.succeed(known)
      const receipt = await call.replay(model, known)
      return work.replay(known, receipt)
    }
    const more = yieldIfLarge(context.hold)
    if (more !== undefined) await more
    if (context.isRepeat) assertRepeatable(context, work)
    const nanoUsd = costs?.most(selection.routes) ?? 0
    if (nanoUsd > 0) {
      const { caller, requestId, face } = context
      const { startedAt: at } = call
      const model = selection.routes[0]!.model.row.id
      const asked = { caller, requestId, at, timeoutMs, face, modality, model }
      call.held = await parts.reserve({ ...asked, nanoUsd })
    }
    // The provider charges for a whole answer, whether or not somebody waits for it.
    if (work.isShared || context.vendorKey !== undefined) goOn(parts, context)
    const made = await work.make(call, selection)
    const keep = keeper(parts, context, key, making)
    return await work.deliver(made, { call, warnings, keep })
  } catch (thrown) {
    // Whatever happens to its row, those who wait for the answer are freed.
    const error = await call.fail(thrown).catch(toGatewayError)
    making?.fail(error)
    // Those who wait for the answer fail each with a progress of its own.
    throw error.after({ ...asked, ...call.progress() })
  }
}

function goOn({ leftCalls }: GatewayParts, { caller, ending }: CallContext): void {
  const [, { ownerId }] = caller.allowances
  ending.goOn(leftCalls, ownerId)
}

type Choice<Made, Answer> = { able: FoundRoutes; work: Work<Made, Answer>; atMs: number }

/** The routes that can do the work. Throws a GatewayError when there is none. */
function selectFor<Made, Answer>(
  parts: Pick<GatewayParts, 'orderRoutes'>,
  { caller, strict, fallback, warnings: adjusted = [] }: CallContext,
  { able, work, atMs }: Choice<Made, Answer>,
) {
  const warnings = [...adjusted, ...work.warnings, ...able.warnings]
  const routes = parts.orderRoutes(takingPart(able.routes, work))
  const costs = hasBudget(caller) ? upperCostsOf(work, atMs) : undefined
  const { check } = costs ?? work
  const selection = selectRoutes({ routes, check, warnings, strict, fallback })
  return { selection, warnings, costs }
}

/** What the work would cost. Throws the GatewayError that refuses it. */
async function quote<Made, Answer>(
  parts: GatewayParts,
  context: CallContext,
  work: Work<Made, Answer>,
): Promise<Quotes> {
  const atMs = parts.clock()
  const able = await parts.routes(work.models, context.caller)
  const { selection, warnings } = selectFor(parts, context, { able, work, atMs })
  return { routes: quotesOf(selection, work, atMs), warnings: shortenedWarnings(warnings) }
}

/** Throws an UnknownOutcome for a picture that another process may have bought, and ended. */
function assertRepeatable(
  { allowRepeat }: CallContext,
  { modality }: Pick<Work<unknown, unknown>, 'modality'>,
): void {
  if (allowRepeat || modality === 'chat') return
  const text = 'The gateway was stopped while it made this picture.'
  throw new UnknownOutcome(new ProviderFailure('unreachable', text))
}

function takingPart(routes: Route[], work: Pick<Work<unknown, unknown>, 'prompt'>): Route[] {
  if (routes.every(({ provider }) => provider.sitsOut === undefined)) return routes
  const prompt = work.prompt()
  return routes.filter(({ provider }) => provider.sitsOut?.(prompt) !== true)
}

function keyOf(
  { settingsDigest }: GatewayParts,
  context: CallContext,
  { modality, canonical }: Pick<Work<unknown, unknown>, 'modality' | 'canonical'>,
): string | undefined {
  const { caller, strict, fallback, cache } = context
  if (!cache.recall && !cache.remember) return undefined
  const { warnings } = context
  // An answer is remembered with its warnings.
  const request = warnings === undefined ? canonical() : [canonical(), warnings]
  return cacheKey({ caller, strict, fallback, settingsDigest }, modality, request)
}

/**
 * A remembered answer, that of an identical call in flight, or the making of it; undefined when this
 * call makes it for itself alone, and without a signal, which limits the wait for others.
 */
function recall(
  { inFlight, recall, recallFar }: GatewayParts,
  { cache }: CallContext,
  key: string | undefined,
  signal: AbortSignal | undefined,
): Promise<Joined<Remembered> | undefined> | Joined<Remembered> | undefined {
  if (key === undefined) return undefined
  const running = cache.recall && signal ? inFlight.find(key, signal) : undefined
  if (running !== undefined) return running
  const known = cache.recall ? recall(key) : undefined
  if (known !== undefined) return { answer: known }
  if (signal !== undefined) return { making: inFlight.begin(key) }
  return cache.recall ? recallFar?.(key).then((answer) => answer && { answer }) : undefined
}

/**
 * Passes an answer to the identical calls that wait for it, and stores it in the cache. The answer is
 * out by then: what goes wrong here is told, and neither ends the process nor lets others wait.
 */
function keeper(
  { remember, onFault }: GatewayParts,
  { cache }: CallContext,
  key: string | undefined,
  making: Making<Remembered> | undefined,
): Delivery['keep'] {
  if (key === undefined || (making === undefined && !cache.remember)) return undefined
  return (pack) => {
    try {
      const answer = pack()
      let kept: Promise<boolean> | undefined
      try {
        if (cache.remember) kept = remember(key, answer, cache.ttlMs)
      } finally {
        making?.succeed(answer, kept)
      }
    } catch (fault) {
      making?.fail(toGatewayError(fault))
      onFault(fault)
    }
  }
}
