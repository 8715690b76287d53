import { openCall, type Call } from './call.ts'
import type { CallContext, Caller } from './caller.ts'
import type { ChatRequest, ChatResult } from './chat/chat.ts'
import { deliverStream, replayStream, type StreamedChat } from './chat/stream.ts'
import { chatWork } from './chat/work.ts'
import { createDeadlines, type StartDeadline } from './deadline.ts'
import type { Attempt, FailoverPolicy } from './failover.ts'
import type { AskedImage, ImageResult, ImageSource } from './image/image.ts'
import { refuseWarnings } from './image/plan.ts'
import type { ImageParts } from './image/run.ts'
import { imageWork } from './image/work.ts'
import type { Model, Warning } from './model.ts'
import type { Usage } from './price.ts'
import { cacheKey } from './recall/cache-key.ts'
import { createFingerprint } from './recall/fingerprint.ts'
import { createInFlight, type InFlight, type Making } from './recall/in-flight.ts'
import type { Remembered } from './recall/remembered.ts'
import type { Receipt, RequestLimit, UsageRow } from './receipt.ts'
import type { Route } from './route.ts'
import type { Prepared, Ran, Work } from './work.ts'

/** What the core needs from outside. */
export type GatewayParts = ImageParts & {
  /** Throws a GatewayError when the caller's limit is reached. */
  admit: (caller: Caller) => Promise<RequestLimit>
  recall: (key: string) => Promise<Remembered | undefined> | Remembered | undefined
  remember: (key: string, answer: Remembered, ttlMs: number | undefined) => void
  /** The routes of the named models, as listed. Throws a GatewayError when there are none. */
  routes: (models: readonly string[], caller: Caller) => { routes: Route[]; warnings: Warning[] }
  /** Puts the best routes first. */
  orderRoutes: (routes: Route[]) => Route[]
  failover: FailoverPolicy
  findModel: (id: string) => Model
  report: (route: Route, attempt: Attempt, context: CallContext) => void
  /** Resolves when the row is durable. */
  record: (row: UsageRow) => Promise<void>
  clock: () => number
  limits: {
    chatTimeoutMs: number
    imageTimeoutMs: number
    imageCallsConcurrentMax: number
    cacheEntryBytesMax: number
  }
}

export type Answered<Result> = { result: Result; usage: Usage | undefined; receipt: Receipt }

export type Gateway = {
  /** Answers a conversation with a language model. Throws a GatewayError. */
  chat(request: ChatRequest, context: CallContext): Promise<Answered<ChatResult>>
  /** The same as a stream; resolves once the first event is there. */
  chatStream(request: ChatRequest, context: CallContext): Promise<StreamedChat>
  /** Makes `n` pictures, from those that are read once the caller is admitted: all of them, or an error. */
  image(
    request: AskedImage,
    context: CallContext,
    readSources?: () => Promise<readonly ImageSource[]>,
  ): Promise<Answered<ImageResult>>
}

/** The one sequence of every call, whichever face it came through (design.md section 3). */
export function createGateway(given: GatewayParts): Gateway {
  const parts = {
    ...given,
    fingerprint: createFingerprint(),
    inFlight: createInFlight<Remembered>(),
    startDeadline: createDeadlines(),
  }
  const { chatTimeoutMs, imageTimeoutMs } = parts.limits
  const { admit } = parts
  return {
    chat: (request, context) =>
      admit(context.caller).then((limit) =>
        answer({ parts, context, work: chatWork(request, chatTimeoutMs) }, limit),
      ),
    image: async (asked, context, readSources) => {
      const limit = await admit(context.caller)
      const request = { ...asked, sources: (await readSources?.()) ?? [] }
      return answer({ parts, context, work: imageWork(request, imageTimeoutMs, parts) }, limit)
    },
    chatStream: (request, context) =>
      admit(context.caller).then((limit) =>
        stream({ parts, context, work: chatWork(request, chatTimeoutMs) }, limit, request),
      ),
  }
}

type Passage<Result> = {
  parts: GatewayParts & { inFlight: InFlight<Remembered>; startDeadline: StartDeadline }
  work: Work<Result>
  context: CallContext
}

/** Recall, find routes, fail over, record, remember. */
async function answer<Result>(
  passage: Passage<Result>,
  limit: RequestLimit,
): Promise<Answered<Result>> {
  const { parts } = passage
  const key = keyOf(passage)
  const call = open(passage, limit)
  let making: Making<Remembered> | undefined
  try {
    const prepared = prepare(passage)
    const found = recall(passage, key, call.deadline.signal)
    const known = found instanceof Promise ? await found : found
    if (known !== undefined) {
      const { receipt, usage } = await answerAgain(passage, call, known)
      return { result: passage.work.unpack(known.result), usage, receipt }
    }
    if (key !== undefined) making = parts.inFlight.begin(key)
    const ran = await prepared.run(call, prepared.routes)
    const { result, usage } = ran
    const receipt = await call.succeed(ran, joined(prepared.warnings, ran.warnings))
    if (key !== undefined && making !== undefined) {
      const made = { key, making, ran, receipt }
      // The answer goes out before; identical calls find it under way until then.
      setImmediate(() => keep(passage, made))
    }
    return { result, usage, receipt }
  } catch (thrown) {
    const error = await call.fail(thrown)
    making?.fail(error)
    throw error
  }
}

/** The same for a stream: from its first event on it can no longer fail over. */
async function stream(
  passage: Passage<ChatResult>,
  limit: RequestLimit,
  request: ChatRequest,
): Promise<StreamedChat> {
  const { parts, context } = passage
  const key = keyOf(passage)
  const call = open(passage, limit)
  try {
    const prepared = prepare(passage)
    const found = recall(passage, key)
    const known = found instanceof Promise ? await found : found
    if (known !== undefined) {
      const { receipt } = await answerAgain(passage, call, known)
      return replayStream(known, receipt, request)
    }
    // Streamed requests are conversations alone.
    const { stream, route, warnings } = await prepared.stream!(call, prepared.routes)
    const receipt = call.receiptSoFar(route, joined(prepared.warnings, warnings))
    const keep = key !== undefined && context.cache.remember
    const bytesMax = keep ? parts.limits.cacheEntryBytesMax : 0
    const remember = (answer: Remembered) => {
      if (keep) parts.remember(key, answer, context.cache.ttlMs)
    }
    return deliverStream({ stream, call, route, receipt, request, bytesMax, remember })
  } catch (thrown) {
    throw await call.fail(thrown)
  }
}

function open({ parts, work, context }: Passage<unknown>, limit: RequestLimit): Call {
  const { modality, models, timeoutMs } = work
  return openCall(parts, { context, modality, model: models[0]!, limit, timeoutMs })
}

function keyOf({ work, context }: Passage<unknown>): string | undefined {
  const { recall, remember } = context.cache
  return recall || remember ? cacheKey(context.caller, work.modality, work.canonical()) : undefined
}

/**
 * A remembered answer; before that, where `signal` limits the wait for it, the answer of an identical call
 * under way, which the one who waits may have to make in its place.
 */
function recall(
  { parts, context }: Passage<unknown>,
  key: string | undefined,
  signal?: AbortSignal,
): ReturnType<GatewayParts['recall']> {
  if (key === undefined || !context.cache.recall) return undefined
  const running = signal && parts.inFlight.find(key, signal)
  return running ?? parts.recall(key)
}

async function answerAgain<Result>(
  { parts }: Passage<Result>,
  call: Call,
  { modelId, provider, usage, warnings }: Remembered,
): Promise<Omit<Answered<Result>, 'result'>> {
  const receipt = await call.replay(parts.findModel(modelId), provider, usage, warnings)
  return { usage, receipt }
}

/** Before the cache is asked: what a key may not have, it may not have out of the cache either. */
function prepare<Result>({ parts, work, context }: Passage<Result>): Prepared<Result> {
  const found = parts.routes(work.models, context.caller)
  const prepared = work.prepare(parts.orderRoutes(found.routes), context.strict)
  const warnings = [...found.warnings, ...prepared.warnings]
  if (context.strict) refuseWarnings(warnings)
  const routes = context.fallback ? prepared.routes : prepared.routes.slice(0, 1)
  return { ...prepared, routes, warnings }
}

function joined(
  warnings: readonly Warning[],
  more: readonly Warning[] | undefined,
): readonly Warning[] {
  return more === undefined || more.length === 0 ? warnings : [...warnings, ...more]
}

type Made<Result> = {
  key: string
  making: Making<Remembered>
  ran: Ran<Result>
  receipt: Receipt
}

function keep<Result>(passage: Passage<Result>, { key, making, ran, receipt }: Made<Result>): void {
  const { parts, context } = passage
  const remembered = toRemembered(passage, ran, receipt)
  making.succeed(remembered)
  if (context.cache.remember) parts.remember(key, remembered, context.cache.ttlMs)
}

function toRemembered<Result>(
  { work }: Passage<Result>,
  { result, usage, bytes }: Ran<Result>,
  { model, provider, warnings }: Receipt,
): Remembered {
  return { modelId: model.row.id, provider, usage, warnings, bytes, result: work.pack(result) }
}
