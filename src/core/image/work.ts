import { deliverWhole, type Answered, type Call, type Work } from '../call.ts'
import type { Whole } from '../receipt.ts'
import { tokensOfPrompt } from '../chat/estimate.ts'
import { tooSmall } from '../chat/media.ts'
import { GatewayError } from '../error.ts'
import {
  makesEmbeddings,
  makesImages,
  withNames,
  type CallInputs,
  type Model,
  type Problem,
  type Warning,
} from '../model.ts'
import { noUsage } from '../money/price.ts'
import type { ExactUsage, UpperUsage } from '../money/upper-cost.ts'
import type { Fingerprint } from '../repeats/fingerprint.ts'
import { isSuccessor, noAdapter, type Readiness, type Route } from '../route.ts'
import type {
  ImageRequest,
  ImagePlan,
  FullImageRequest,
  ImageResult,
  ImageSource,
  ExtractedTexts,
  NamedAddress,
  ImageWatch,
  ReadSources,
} from './image.ts'
import { oversizeWarnings } from './fit-sources.ts'
import { picturesPerCall } from './generate.ts'
import { planImage, requestFor } from './plan.ts'
import { plannedTraits, runImage, type ImageParts } from './run.ts'
import { largestPixels, pixelsText } from './size.ts'

/** An image request for the core, with its input pictures and options. */
export type ImageInputs = CallInputs<ImageRequest> & {
  addresses?: readonly NamedAddress[]
  texts?: ExtractedTexts
  mask?: NamedAddress | undefined
  /** The request parameter that holds the input pictures. */
  param?: string
  /** How many of the pictures may not be left out when a model takes fewer; all when absent. */
  newCount?: number
  /** Maps a parameter of the images API to the caller's name for it; identity when absent. */
  nameOf?: (param: string) => string
  /** Adjustments made when the request was converted. */
  warnings?: readonly Warning[]
  /** How many copies of a picture its answer takes; 1 when absent. */
  copies?: number
  watch?: ImageWatch | undefined
}

type Options = {
  inputs: ImageInputs
  parts: ImageParts & { readSources: ReadSources; fingerprint: Fingerprint }
  timeoutMs: number
}
type Planned = { plan: ImagePlan; warnings: readonly Warning[] }

/** The work of an image request, which is answered in one piece. */
export function imageWork(options: Options): Work<Whole<ImageResult>, Answered<ImageResult>> {
  const { inputs, parts, timeoutMs } = options
  const { models, addresses = [], param = 'images', warnings = [], newCount } = inputs
  const { nameOf = (name: string) => name, copies, watch, mask } = inputs
  const request: FullImageRequest = { ...inputs.request, sources: [] }
  const { length: count } = addresses
  const plans = new Map<Model, Planned>()

  const check = (route: Route): Readiness => {
    const problem = modelProblem(route)
    if (problem !== undefined) return { problems: [problem], warnings: [] }
    const planned = plans.get(route.model) ?? planFor(route)
    return 'plan' in planned ? { problems: [], warnings: warningsOf(route, plans) } : planned
  }
  const planFor = ({ model, provider }: Route): Planned | Readiness => {
    try {
      const partialImages = watch?.partialImages
      const counted = { count, param, newCount, partialImages, hasMask: mask !== undefined }
      const { plan, warnings } = planImage(request, model, counted, provider.image?.unlisted)
      parts.conversion.check(plan, model.row.image?.native_format)
      const planned = { plan, warnings: withNames(warnings, nameOf) }
      plans.set(model, planned)
      return planned
    } catch (error) {
      return readinessOf(error, nameOf)
    }
  }
  return {
    modality: 'image',
    models,
    timeoutMs,
    warnings,
    prompt: () => request.prompt,
    demand: { images: request.n, tokens: () => tokensOfPrompt(request.prompt) },
    check,
    upperUsage: ({ model }) => upperImageUsage(request, model, plans.get(model)!.plan, count),
    exactUsage: (route, first) =>
      exactImageUsage(request, plans.get(route.model)!.plan, { route, first }, count),
    read: (call) => readPictures(options, plans, request, call),
    canonical: () => ({
      ...request,
      mask: request.mask && parts.fingerprint(request.mask.base64),
      sources: request.sources.map(({ base64 }) => parts.fingerprint(base64)),
      adjustments: adjustmentsOf(options, plans, request),
    }),
    isShared: true,
    make: async (call, selection) => {
      // `check` has made a plan for each remaining route.
      const planOf = ({ model }: Route) => plans.get(model)!.plan
      const inputsOf = (route: Route) => checkInputs(requestFor(request, planOf(route)), route)
      const routes = selection.routes.filter((route) => selection.admits(route, inputsOf(route)))
      if (routes.every(isSuccessor)) throw selection.refusal()
      const able = { ...selection, routes }
      const made = await runImage({ parts, request, planOf, call, selection: able, copies, watch })
      const adjustments = [...warningsOf(made.route, plans), ...inputsOf(made.route).warnings]
      return { ...made, warnings: [...adjustments, ...withNames(made.warnings, nameOf)] }
    },
    // The result is cached unserialized: its pictures are Buffers, outside the JavaScript heap.
    deliver: (whole, delivery) => deliverWhole(whole, delivery, (result) => result),
    // Only `deliver` writes under the cache key of an image request.
    replay: ({ result, usage }, receipt) => ({ result: result as ImageResult, usage, receipt }),
  }
}

/** Reads the input pictures and the mask into the request. */
async function readPictures(
  { inputs: { addresses = [], mask, texts }, parts }: Options,
  plans: ReadonlyMap<Model, Planned>,
  request: FullImageRequest,
  { deadline: { signal }, context: { memory, tasks } }: Call,
): Promise<void> {
  // The input pictures of a job that another process began are not stored, and no vendor is asked.
  if (tasks?.begun !== undefined) return
  const { length: count } = addresses
  const counts = [...plans.values()].map(({ plan }) => plan.sources ?? count)
  const sent = addresses.slice(count - Math.max(0, ...counts))
  const takesHeic = [...plans.keys()].some(({ row }) => row.input_image_heic)
  const call = { signal, memory, takesHeic }
  if (sent.length > 0) request.sources = await parts.readSources(sent, call, texts)
  if (mask === undefined) return
  const [read] = await parts.readSources([mask], { signal, memory }, texts)
  request.mask = read!
}

/** The warnings of the plan for a route, which may be one to the successor of the requested model. */
function warningsOf(
  { model, replaces }: Route,
  plans: ReadonlyMap<Model, Planned>,
): readonly Warning[] {
  const { warnings } = plans.get(model)!
  if (replaces === undefined) return warnings
  const [requested, applied] = [replaces.row.id, model.row.id]
  const reason = `The vendor no longer has ${requested}; its successor answers.`
  return [{ param: 'model', requested, applied, reason }, ...warnings]
}

/** The readiness of a model whose plan failed. */
function readinessOf(error: unknown, nameOf: (param: string) => string): Readiness {
  if (!(error instanceof GatewayError)) throw error
  const { message, toolMessage, code } = error
  const param = error.param === null ? 'model' : nameOf(error.param)
  return { problems: [{ param, message, toolMessage, code }], warnings: [] }
}

/** Checks the sides and bytes of the input pictures, once they are read. */
function checkInputs({ sources, mask }: FullImageRequest, route: Route): Readiness {
  const { id, input_image_side_min: least } = route.model.row
  const warnings = oversizeWarnings(sources, route.model)
  const problems = sources.flatMap((source) =>
    source.width === 0
      ? heicProblems(source, route, warnings)
      : tooSmall(source, { id, least, param: source.param }),
  )
  return { problems: [...problems, ...maskProblems(mask, sources.at(-1), warnings)], warnings }
}

function maskProblems(
  mask: ImageSource | undefined,
  source: ImageSource | undefined,
  oversize: readonly Warning[],
): Problem[] {
  if (mask === undefined || source === undefined) return []
  const found = oversize.find(({ param }) => param === source.param)
  if (found !== undefined) {
    const message = `With a mask, the model takes ${String(found.applied)} for this picture.`
    return [{ param: source.param, message, code: 'request_too_large' }]
  }
  const [size, wanted] = [pixelsText(mask), pixelsText(source)]
  if (size === wanted) return []
  const message = `The mask has ${size} pixels, but the input image has ${wanted}. Send a mask of this size.`
  return [{ param: mask.param, message, code: 'invalid_value' }]
}

/** A HEIC is checked by its bytes only, since the gateway can neither read its size nor make a smaller copy. */
function heicProblems(
  { format, param }: ImageSource,
  { model: { row } }: Route,
  oversize: readonly Warning[],
): Problem[] {
  const takes = row.input_image_heic === true
  const found = oversize.find((warning) => warning.param === param)
  if (takes && found === undefined) return []
  const code = takes ? 'request_too_large' : 'invalid_value'
  const limit = takes ? ` of this size: ${String(found?.applied)}` : ''
  const message = `${row.id} does not accept ${format.toUpperCase()} images${limit}. Send a PNG, JPEG or WebP.`
  return [{ param, message, code }]
}

/**
 * The warnings and parameter names that are part of the cache key, so that a cached answer fits all its
 * callers. The name of the prompt is left out: it differs between the APIs, and no vendor adjusts it.
 */
function adjustmentsOf(
  { inputs: { request, warnings = [], nameOf } }: Options,
  plans: ReadonlyMap<Model, Planned>,
  read: FullImageRequest,
): object {
  const ofPlan = ([model, { plan, warnings }]: [Model, Planned]) => [
    ...warnings,
    ...oversizeWarnings(requestFor(read, plan).sources, model),
  ]
  const adjustable = Object.keys(request).filter((name) => name !== 'prompt')
  const names = nameOf === undefined ? [] : adjustable.map(nameOf)
  return {
    warnings: [...warnings, ...[...plans].flatMap(ofPlan)],
    names: names.filter((name) => !(name in request)),
  }
}

function modelProblem(route: Route): Problem | undefined {
  const { model, provider } = route
  if (!makesImages(model) && !model.undescribed) {
    const message = `${model.row.id} makes no images. Choose an image model.`
    const remedy = makesEmbeddings(model) ? ' Its embeddings are made by /v1/embeddings.' : ''
    const toolMessage = `${message} list-image-models lists them.`
    return { param: 'model', message: message + remedy, toolMessage }
  }
  return provider.image === undefined ? noAdapter(route, 'images') : undefined
}

/** Upper bound of the tokens of an input picture at any vendor. */
const pictureTokens = 16_384
/** Output tokens of a partial image, as OpenAI counts (docs/vendors.md#openai-images). */
const tokensPerPartial = 100
/** Tokens that vendors add to a prompt. */
const overheadTokens = 1024

/**
 * Upper bound of the usage of planned pictures (docs/behaviour.md#budgets). Each picture may take a
 * separate call, which reads the prompt and all input pictures.
 */
function upperImageUsage(
  { prompt, n }: ImageRequest,
  { row }: Model,
  plan: ImagePlan,
  sourceCount: number,
): UpperUsage {
  const { sources = sourceCount } = plan
  const { width, height } = largestPixels(row.image?.size)
  const partialTokens = n * tokensPerPartial * (plan.partialImages ?? 0)
  return {
    inputTokens: n * (overheadTokens + Buffer.byteLength(prompt) + sources * pictureTokens),
    outputTokens: n * (row.max_output_tokens ?? row.context_window ?? Infinity) + partialTokens,
    partialTokens,
    hasImageInput: sources > 0,
    images: n,
    picture: { pixels: width * height, ...plannedTraits(plan), referenceImages: n * sources },
  }
}

type Tried = {
  route: Route
  /** The first route of the same model; its pictures per call decide how the request is split. */
  first: Route
}

/**
 * The exact usage of pictures with a price per image, for a number of input pictures; undefined when the
 * vendor reports its charge.
 */
function exactImageUsage(
  { n }: ImageRequest,
  plan: ImagePlan,
  { route, first }: Tried,
  sourceCount: number,
): ExactUsage | undefined {
  const { sources = sourceCount } = plan
  // The adapter exists: `imageWork` has excluded the routes without one.
  if (route.provider.image!.reportsCost === true) return undefined
  const calls = Math.ceil(n / picturesPerCall(first.provider.image!, first, plan))
  const picture = { ...plannedTraits(plan), referenceImages: sources * calls }
  return { usage: { ...noUsage, images: n }, picture }
}
