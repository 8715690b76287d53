import { piecesLength } from '../../bytes/pieces.ts'
import { tryRoutes, type Call } from '../call.ts'
import type { Whole } from '../receipt.ts'
import type { Try } from '../resilience/failover.ts'
import { deadlineOfSiblings } from '../resilience/parts.ts'
import { afterSpending, ProviderFailure, mostRelevantFailure, UnknownOutcome } from '../failure.ts'
import { prune } from '../prune.ts'
import { memoryError } from '../error.ts'
import type { Warning } from '../model.ts'
import type { VendorTask } from '../turn.ts'
import type { PictureTraits } from '../money/pricing.ts'
import { noUsage } from '../money/price.ts'
import { isSuccessor, selectionsByModel, type Route, type Selection } from '../route.ts'
import { fitSources } from './fit-sources.ts'
import { generate, merge, picturesPerCall, upperBytes, usageOf } from './generate.ts'
import { requestFor } from './plan.ts'
import {
  splitCalls,
  type Conversion,
  type FinishedPicture,
  type ImageAdapter,
  type ImageCall,
  type ImagePlan,
  type FullImageRequest,
  type ImageResult,
  type ImageWatch,
  type Picture,
  type Pixels,
  type ShrinkPicture,
} from './image.ts'
import { pixelsText } from './size.ts'

export type ImageParts = {
  conversion: Conversion
  shrinkPicture: ShrinkPicture
  limits: { imageCallsConcurrentMax: number }
}

type Options = {
  parts: ImageParts
  request: FullImageRequest
  planOf: (route: Route) => ImagePlan
  call: Call
  selection: Selection
  copies?: number | undefined
  watch: ImageWatch | undefined
  lastRoute?: Route | undefined
}
/** The finished pictures of one upstream call, and the size of the first as the vendor made it. */
type UsedPictures = {
  result: ImageResult
  first: Pixels
  lostFor: FinishedPicture['credentialsLostFor']
}

/**
 * Makes `n` pictures in as many upstream calls as needed; each call fails over independently among the routes
 * of one model, since the pictures of an answer have one model and one price. When a model fails, the next
 * model makes all pictures.
 */
export async function runImage(options: Options): Promise<Whole<ImageResult>> {
  const { call } = options
  const selection = selectionOfTasks(options.selection, call.context.tasks?.begun)
  const failures: ProviderFailure[] = []
  await reserveMemory({ ...options, selection })
  const models = selectionsByModel(selection)
  const lastRoute = models.at(-1)!.routes.at(-1)
  for (const ofModel of models) {
    const [first] = ofModel.routes
    // A successor answers only when the vendor no longer has the model.
    if (isSuccessor(first!) && failures[0]?.kind !== 'not_found') continue
    const planned = requestFor(options.request, options.planOf(first!))
    const fitting = { shrink: options.parts.shrinkPicture, memory: call.context.memory }
    try {
      const sources = await fitSources(planned.sources, first!.model, fitting)
      const request = { ...planned, sources }
      return await runModel({ ...options, request, selection: ofModel, lastRoute })
    } catch (error) {
      const mayContinue = error instanceof ProviderFailure && error.mayTryNext
      const isSettled = options.watch?.hasDelivered?.() === true
      if (!mayContinue || isSettled || call.deadline.signal.aborted) throw error
      failures.push(error)
    }
  }
  throw mostRelevantFailure(failures)
}

/** Of a job that another process began, the routes that have its tasks, since only they can finish it. */
function selectionOfTasks(
  selection: Selection,
  begun: readonly VendorTask[] | undefined,
): Selection {
  if (begun === undefined) return selection
  const last = begun.at(-1)
  const routes = selection.routes.filter(
    ({ model, provider, upstreamModel }) =>
      model.row.id === last?.modelId &&
      begun.some((one) => one.provider === provider.id && one.upstreamModel === upstreamModel),
  )
  if (routes.length > 0) return { ...selection, routes }
  const text = 'The gateway was stopped while it made this picture.'
  throw new UnknownOutcome(new ProviderFailure('unreachable', text))
}

/** Makes sure that the pictures can be received and converted, before they are paid. */
async function reserveMemory(options: Options): Promise<void> {
  const { parts, request, planOf, call, selection, copies = 1 } = options
  const bytesOf = (route: Route): number => {
    const plan = planOf(route)
    parts.conversion.assertRoom(plan)
    const { made, delivered } = upperBytes(plan, route)
    // A partial image is in memory until it is sent, and is as large as a picture.
    const partial = plan.partialImages === undefined ? 0 : made
    return request.n * (partial + Math.max(made, copies * delivered))
  }
  try {
    const bytes = Math.max(...selection.routes.map(bytesOf))
    await call.context.memory.reserve(bytes, call.deadline.signal)
  } catch (error) {
    const isEnded = error instanceof ProviderFailure && error.kind !== 'timeout'
    throw isEnded ? error : memoryError('process')
  }
}

async function runModel(options: Options): Promise<Whole<ImageResult>> {
  const { parts, request, planOf, call, selection } = options
  const { imageCallsConcurrentMax: concurrency } = parts.limits
  const first = selection.routes[0]!
  const perCall = picturesPerCall(adapterOf(first), first, planOf(first))
  const calls = Math.ceil(request.n / perCall)
  const own = { deadline: call.deadline, onFailure: undefined }
  const { deadline, onFailure } = calls === 1 ? own : deadlineOfSiblings(call.deadline)
  const answers: { route: Route; value: UsedPictures; winner: Try }[] = []
  const split = { n: request.n, perCall, concurrency, answers, onFailure }
  // A fallback route that makes fewer pictures per call shares the concurrency among the calls.
  const splitConcurrency = Math.max(1, Math.floor(concurrency / calls))
  const make = makerOf(options, splitConcurrency)
  try {
    await splitCalls(split, (count, index) =>
      tryRoutes(call, selection, (route, turn) => make(route, { count, index, turn }), {
        deadline,
      }),
    )
  } catch (error) {
    // After a failure the list has gaps.
    for (const { winner, value, route } of Object.values(answers)) {
      winner.spent = spentOn(value, options, route)
    }
    throw error
  }
  const { route, value } = answers[0]!
  const plan = planOf(route)
  const values = answers.map((one) => one.value)
  const merged = merge(values.map((one) => one.result))
  const result = { ...requestedSettings(request, plan), ...merged }
  const { pictures, usage = noUsage } = result
  const referenceImages = request.sources.length * answers.length
  return {
    route,
    usage: { ...usage, images: pictures.length },
    picture: { ...traits(plan, value.first), referenceImages },
    result,
    bytes: pictures.reduce((sum, { base64 }) => sum + piecesLength(base64), 0),
    warnings: [
      ...morePictures(request, pictures.length),
      ...otherSize(request, plan, values),
      ...lostCredentials(request, values),
    ],
  }
}

type Part = Pick<ImageCall, 'count' | 'index' | 'turn'>

/** Returns a function that makes and converts a part of the pictures at one route. */
function makerOf(options: Options, concurrency: number) {
  const { request, planOf, call, watch, lastRoute } = options
  const { allowRepeat } = call.context
  return async (route: Route, part: Part): Promise<UsedPictures> => {
    const plan = planOf(route)
    let made: UsedPictures | undefined
    try {
      const onPartial: ImageCall['onPartial'] =
        watch?.partial &&
        ((partial) => watch.partial!({ ...requestedSettings(request, plan), ...partial }))
      const mayWait = route === lastRoute
      const imageCall = { request, plan, target: route, ...part, mayWait, onPartial }
      const result = await generate(adapterOf(route), imageCall, concurrency)
      const { width, height } = result.pictures[0]!
      made = { result, first: { width, height }, lostFor: undefined }
      await finishEach(made, plan, options)
      if (request.n > 1 && watch?.finished !== undefined) {
        const { pictures, ...about } = { ...requestedSettings(request, plan), ...result }
        for (const [place, picture] of pictures.entries())
          watch.finished(picture, part.index + place, about)
      }
      return made
    } catch (thrown) {
      const error = made ? afterSpending(thrown, usageOf(made.result)) : thrown
      if (!(error instanceof ProviderFailure)) throw error
      if (error.spent) error.spent.picture ??= spentOn(made, options, route).picture
      // A picture that the vendor may have made and charged is not requested again.
      throw error.wasSent && error.mayBeCharged && error.kind !== 'cancelled' && !allowRepeat
        ? new UnknownOutcome(error)
        : error
    }
  }
}

/** Replaces each picture by its delivered form, so that the memory of the vendor's form is free at once. */
async function finishEach(
  unfinished: UsedPictures,
  plan: ImagePlan,
  { parts, call }: Options,
): Promise<void> {
  const { pictures } = unfinished.result
  const { memory } = call.context
  const finish = async (picture: Picture, index: number): Promise<void> => {
    const finished = await parts.conversion.finish(picture, plan, call.deadline.signal)
    pictures[index] = finished.picture
    unfinished.lostFor ??= finished.credentialsLostFor
    if (finished.picture === picture) return
    memory.growAnswer(piecesLength(finished.picture.base64))
    memory.giveAnswer(piecesLength(picture.base64))
  }
  await Promise.all(pictures.map(finish))
}

/** The usage of pictures that are not delivered; `pictures` is undefined when only their number is known. */
function spentOn(pictures: UsedPictures | undefined, { request, planOf }: Options, route: Route) {
  const plan = planOf(route)
  const picture = pictures === undefined ? plannedTraits(plan) : traits(plan, pictures.first)
  const usage = pictures ? usageOf(pictures.result) : noUsage
  return { usage, picture: { ...picture, referenceImages: request.sources.length } }
}

/** The requested settings that the answer reports unless the vendor reports others. */
function requestedSettings({ background }: FullImageRequest, { quality }: ImagePlan) {
  // `auto` is not reported, since only the vendor knows the chosen background.
  return prune({ quality, background: background === 'auto' ? undefined : background })
}

/** The traits that select the price per image: the requested traits, else the traits of the picture. */
function traits(plan: ImagePlan, size: Pixels): PictureTraits {
  return { ...plannedTraits(plan), ...sizeTraits(plan.vendorPixels ?? size) }
}

/** The traits that are known before a picture is made. */
export function plannedTraits({ sizeClass, quality, vendorPixels }: ImagePlan): PictureTraits {
  return { ...prune({ sizeClass, quality }), ...(vendorPixels && sizeTraits(vendorPixels)) }
}

function sizeTraits(pixels: Pixels): PictureTraits {
  return { size: pixelsText(pixels), pixels: pixels.width * pixels.height }
}

/** The warning about more pictures than requested, which the vendor charges. */
function morePictures({ n }: FullImageRequest, made: number): Warning[] {
  if (made <= n) return []
  const reason = `The model made ${made} pictures. All are returned and charged.`
  return [{ param: 'n', requested: n, applied: made, reason }]
}

/** A warning when the vendor supports the requested size but made a different size. */
function otherSize(
  { size, aspectRatio }: FullImageRequest,
  { requestedPixels, targetPixels, vendorPixels, targetFormat }: ImagePlan,
  pictures: readonly UsedPictures[],
): Warning[] {
  // Nothing to report if no exact size was requested, or a resize was reported already.
  const promised = requestedPixels ?? (aspectRatio === undefined ? undefined : vendorPixels)
  const isFixed = targetPixels === undefined && targetFormat !== 'svg'
  if (promised === undefined || !isFixed) return []
  const asked = pixelsText(promised)
  const applied = pictures.map(({ first }) => pixelsText(first)).find((size) => size !== asked)
  if (applied === undefined) return []
  const isVector = pictures.some(({ result }) => result.pictures[0]?.format === 'svg')
  const then = size === undefined || isVector ? '' : ', which was scaled or cropped to fit'
  const reason = `The provider was asked for ${asked} but made ${applied}${then}.`
  return [{ param: size === undefined ? 'image_size' : 'size', requested: asked, applied, reason }]
}

/** A warning when the gateway converted a signed picture. */
function lostCredentials(
  { size, outputFormat, outputCompression }: FullImageRequest,
  pictures: readonly UsedPictures[],
): Warning[] {
  const param = pictures.find(({ lostFor }) => lostFor !== undefined)?.lostFor
  if (param === undefined) return []
  const options = { size, output_format: outputFormat, output_compression: outputCompression }
  const value = options[param]
  const reason =
    'The conversion removed the content credentials (C2PA), the signature of the vendor. Leave this parameter out to get the picture unchanged.'
  return [{ param, requested: value, applied: value, reason }]
}

/** The adapter of a route; `imageWork` has excluded the routes without an image adapter. */
const adapterOf = ({ provider }: Route): ImageAdapter => provider.image!
