import { piecesLength } from '../../bytes/pieces.ts'
import type { Call, Whole } from '../call.ts'
import { ProviderFailure, tellingFailure, UnknownOutcome } from '../failure.ts'
import type { Warning } from '../model.ts'
import type { Usage } from '../price.ts'
import type { PictureTraits } from '../pricing.ts'
import type { Route, Selection } from '../route.ts'
import {
  splitCalls,
  type FinishedPicture,
  type FinishPicture,
  type ImageAdapter,
  type ImageCall,
  type ImagePlan,
  type ImageRequest,
  type ImageResult,
  type Picture,
  type Pixels,
} from './image.ts'
import { pixelsText } from './size.ts'

export type ImageParts = {
  finishPicture: FinishPicture
  limits: { imageCallsConcurrentMax: number }
}

type Options = {
  parts: ImageParts
  request: ImageRequest
  planOf: (route: Route) => ImagePlan
  call: Call
  selection: Selection
}
/** The finished pictures of one upstream call, and the first one as the vendor made it. */
type Made = ImageResult & {
  first: Picture
  lostFor: FinishedPicture['credentialsLostFor']
}

/**
 * Makes `n` pictures in as many upstream calls as needed; each call fails over independently among
 * the routes of one model, since the pictures of an answer have one model and one price. The next
 * model makes all of them.
 */
export async function runImage(options: Options): Promise<Whole<ImageResult>> {
  const { call, selection } = options
  const failures: ProviderFailure[] = []
  for (const ofModel of selectionsByModel(selection)) {
    try {
      return await runModel({ ...options, selection: ofModel })
    } catch (error) {
      const goesOn = error instanceof ProviderFailure && error.mayTryNext
      if (!goesOn || call.deadline.signal.aborted) throw cancelled(call, error)
      failures.push(error)
    }
  }
  throw cancelled(call, tellingFailure(failures))
}

/** The error that ends the call; its upstream requests that wait for another try are cancelled. */
function cancelled({ deadline }: Call, error: unknown): unknown {
  deadline.abort(siblingFailed(error))
  return error
}

function siblingFailed(cause: unknown): ProviderFailure {
  return new ProviderFailure('cancelled', 'A sibling failed.', { cause })
}

/** The routes of each model for themselves, in the order of its first one. */
function selectionsByModel(selection: Selection): Selection[] {
  const routes = Map.groupBy(selection.routes.slice(0, selection.routesMax), (one) => one.model)
  return [...routes.values()].map((ofModel) => ({ ...selection, routes: ofModel }))
}

async function runModel(options: Options): Promise<Whole<ImageResult>> {
  const { parts, request, planOf, call, selection } = options
  const siblings = new AbortController()
  const signal = AbortSignal.any([call.deadline.signal, siblings.signal])
  const concurrency = parts.limits.imageCallsConcurrentMax
  const first = selection.routes[0]!
  const perCall = adapterOf(first).picturesPerCall(first)
  // A fallback route that makes fewer pictures per call shares the concurrency among the calls.
  const splitConcurrency = Math.max(1, Math.floor(concurrency / Math.ceil(request.n / perCall)))
  try {
    const answers = await splitCalls({ n: request.n, perCall, concurrency }, (count, index) =>
      call.tryRoutes(selection, async (route, traceHeaders): Promise<Made> => {
        const plan = planOf(route)
        const idempotencyKey = call.nextVendorKey()
        const of = { request, plan, target: route, count, index, signal, hold: call.hold }
        const told = { idempotencyKey, traceHeaders }
        const making = generate(splitConcurrency, adapterOf(route), { ...of, ...told })
        const made = await (call.allowRepeat ? making : making.catch(boughtOnce))
        const finish = (one: Picture) => parts.finishPicture(one, plan)
        const finished = await Promise.all(made.pictures.map(finish))
        const pictures = finished.map(({ picture }) => picture)
        const lostFor = finished.find((one) => one.credentialsLostFor)?.credentialsLostFor
        return { ...made, pictures, first: made.pictures[0]!, lostFor }
      }),
    )
    const { route, value } = answers[0]!
    const plan = planOf(route)
    const result = { ...asAsked(request, plan), ...merge(answers.map(({ value }) => value)) }
    const { pictures, usage = { inputTokens: 0, outputTokens: 0, estimated: false } } = result
    return {
      route,
      usage: { ...usage, images: pictures.length },
      picture: {
        ...traits(plan, value.first),
        referenceImages: request.sources.length * answers.length,
      },
      result,
      bytes: pictures.reduce((sum, { base64 }) => sum + piecesLength(base64), 0),
      warnings: [
        ...otherSize(
          request,
          plan,
          answers.map((answer) => answer.value.first),
        ),
        ...lostCredentials(
          request,
          answers.map((answer) => answer.value.lostFor),
        ),
      ],
    }
  } catch (error) {
    // The results of the other calls would be discarded.
    siblings.abort(siblingFailed(error))
    throw error
  }
}

/** A picture that may have been made and charged is not bought again. */
function boughtOnce(error: unknown): never {
  throw error instanceof ProviderFailure && error.wasSent ? new UnknownOutcome(error) : error
}

/** Splits the call again for a route that makes fewer pictures per call than the first one. */
async function generate(
  concurrency: number,
  adapter: ImageAdapter,
  call: ImageCall,
): Promise<ImageResult> {
  const perCall = adapter.picturesPerCall(call.target)
  const results =
    call.count <= perCall
      ? [await adapter.generate(call)]
      : await generateEach({ adapter, perCall, concurrency }, call)
  const made = merge(results)
  if (made.pictures.length < call.count) {
    throw new ProviderFailure(
      'malformed',
      `The provider made ${made.pictures.length} of ${call.count} pictures.`,
    )
  }
  return { ...made, pictures: made.pictures.slice(0, call.count) }
}

type Split = { adapter: ImageAdapter; perCall: number; concurrency: number }

/** Concurrent calls of one route; when one fails, the others are cancelled. */
function generateEach({ adapter, ...split }: Split, call: ImageCall): Promise<ImageResult[]> {
  const siblings = new AbortController()
  const signal = AbortSignal.any([call.signal, siblings.signal])
  return splitCalls({ n: call.count, ...split }, (count, index) =>
    adapter.generate({ ...call, count, index: call.index + index, signal }),
  ).catch((error: unknown) => {
    siblings.abort(siblingFailed(error))
    throw error
  })
}

/** The requested settings that the answer reports unless the vendor reports others. */
function asAsked({ background }: ImageRequest, { quality }: ImagePlan): Partial<ImageResult> {
  return {
    ...(quality === undefined ? {} : { quality }),
    // Only the vendor knows what `auto` became.
    ...(background === undefined || background === 'auto' ? {} : { background }),
  }
}

function merge(results: readonly ImageResult[]): ImageResult {
  const usages = results.flatMap(({ usage }) => (usage === undefined ? [] : [usage]))
  const texts = results.flatMap(({ text }) => (text === undefined ? [] : [text]))
  const { quality, background } = results[0] ?? {}
  return {
    pictures: results.flatMap(({ pictures }) => pictures),
    ...(usages.length === 0 ? {} : { usage: usages.reduce(add) }),
    ...(texts.length === 0 ? {} : { text: texts.join('\n') }),
    ...(quality === undefined ? {} : { quality }),
    ...(background === undefined ? {} : { background }),
  }
}

type Told = 'serviceTier' | 'reportedNanoUsd' | 'upstreamNanoUsd'

function add(a: Usage, b: Usage): Usage {
  return { ...addCounts(a, b), ...addTold(a, b) }
}

/** Required, so that a class of tokens that the contract gains is not forgotten here. */
function addCounts(a: Usage, b: Usage): Required<Omit<Usage, Told>> {
  const sum = (x = 0, y = 0) => x + y
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: sum(a.cachedInputTokens, b.cachedInputTokens),
    cacheWriteTokens: sum(a.cacheWriteTokens, b.cacheWriteTokens),
    audioInputTokens: sum(a.audioInputTokens, b.audioInputTokens),
    imageInputTokens: sum(a.imageInputTokens, b.imageInputTokens),
    imageOutputTokens: sum(a.imageOutputTokens, b.imageOutputTokens),
    audioOutputTokens: sum(a.audioOutputTokens, b.audioOutputTokens),
    reasoningTokens: sum(a.reasoningTokens, b.reasoningTokens),
    images: a.images + b.images,
    estimated: a.estimated || b.estimated,
  }
}

/** A sum of what the vendor charges says something only if it told so for each part. */
function addTold(a: Usage, b: Usage): Pick<Usage, Told> {
  const tiers = new Set([a.serviceTier, b.serviceTier])
  // Different tiers together have no price, as one that is not known.
  const tier = tiers.size === 1 ? a.serviceTier : [...tiers].join('+')
  const isReported = a.reportedNanoUsd !== undefined && b.reportedNanoUsd !== undefined
  const upstream = (a.upstreamNanoUsd ?? 0) + (b.upstreamNanoUsd ?? 0)
  return {
    ...(tier === undefined ? {} : { serviceTier: tier }),
    ...(isReported ? { reportedNanoUsd: a.reportedNanoUsd! + b.reportedNanoUsd! } : {}),
    ...(isReported && upstream > 0 ? { upstreamNanoUsd: upstream } : {}),
  }
}

/** What selects the per-image price: what was requested of the vendor, else what it made. */
function traits(plan: ImagePlan, made: Picture): PictureTraits {
  return { ...plannedTraits(plan), ...sizeTraits(plan.vendorPixels ?? made) }
}

/** What of it is known before a picture is made. */
export function plannedTraits({ sizeClass, quality, vendorPixels }: ImagePlan): PictureTraits {
  return {
    ...(sizeClass === undefined ? {} : { sizeClass }),
    ...(quality === undefined ? {} : { quality }),
    ...(vendorPixels === undefined ? {} : sizeTraits(vendorPixels)),
  }
}

function sizeTraits(pixels: Pixels): PictureTraits {
  return { size: pixelsText(pixels), pixels: pixels.width * pixels.height }
}

/** A warning when the vendor was asked for a size that it supports but made another one. */
function otherSize(
  { size, aspectRatio }: ImageRequest,
  { askedPixels, targetPixels, vendorPixels }: ImagePlan,
  made: readonly Picture[],
): Warning[] {
  // Nothing to report if no exact size was requested, or a resize was reported already.
  const promised = askedPixels ?? (aspectRatio === undefined ? undefined : vendorPixels)
  if (promised === undefined || targetPixels !== undefined) return []
  const asked = pixelsText(promised)
  const other = made.find((picture) => pixelsText(picture) !== asked)
  if (other === undefined) return []
  const applied = pixelsText(other)
  const then = size === undefined ? '' : ', which was fitted'
  const reason = `The provider was asked for ${asked} and made ${applied}${then}.`
  return [{ param: size === undefined ? 'image_size' : 'size', requested: asked, applied, reason }]
}

const requested = {
  size: ({ size }: ImageRequest) => size,
  output_format: ({ outputFormat }: ImageRequest) => outputFormat,
  output_compression: ({ outputCompression }: ImageRequest) => outputCompression,
}

/** A warning when a signed picture had to be converted here. */
function lostCredentials(
  request: ImageRequest,
  lostFor: readonly FinishedPicture['credentialsLostFor'][],
): Warning[] {
  const param = lostFor.find((one) => one !== undefined)
  if (param === undefined) return []
  const value = requested[param](request)
  const reason =
    'The picture was converted for it and lost the content credentials (C2PA) by which its vendor signed it. Without it the picture is delivered as it was made.'
  return [{ param, requested: value, applied: value, reason }]
}

/** `imageWork` has set aside the routes without an image adapter. */
function adapterOf({ provider }: Route): ImageAdapter {
  return provider.image!
}
