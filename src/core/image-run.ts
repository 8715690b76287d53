import type { Call, Delivered } from './call.ts'
import { ProviderFailure } from './failure.ts'
import { pixelsText } from './image-size.ts'
import { planImage, type ImagePlan } from './image-plan.ts'
import {
  splitCalls,
  type ImageAdapter,
  type ImageCall,
  type ImageRequest,
  type ImageResult,
  type Picture,
} from './image.ts'
import { GatewayError } from './error.ts'
import { makesImages, type Warning } from './model.ts'
import type { PictureTraits, Usage } from './price.ts'
import { ableRoutes, noAdapter, type Route } from './route.ts'

export type ImageParts = {
  /** Makes a vendor's picture the one that was asked for. */
  finishPicture: (picture: Picture, plan: ImagePlan) => Promise<Picture>
  limits: { imageCallsConcurrentMax: number }
}

/** The routes that can make these pictures, and what is asked of them. Throws for none left. */
export function prepareImage(
  request: ImageRequest,
  routes: readonly Route[],
): { routes: Route[]; warnings: Warning[]; plan: ImagePlan } {
  const { model } = routes[0]!
  if (!makesImages(model) && !model.undescribed) {
    throw new GatewayError(
      'model_capability_mismatch',
      `${model.row.id} makes no images. Choose an image model.`,
      { param: 'model' },
    )
  }
  const { plan, warnings } = planImage(request, model)
  const able = ableRoutes(
    routes,
    (route) => route.provider.image?.problems(request, route) ?? [noAdapter(route, 'pictures')],
  )
  return { routes: able, warnings, plan }
}

type Options = {
  parts: ImageParts
  request: ImageRequest
  plan: ImagePlan
  call: Call
  routes: readonly Route[]
}

/** Makes `n` pictures over as many upstream calls as it takes; each call fails over by itself. */
export async function runImage(
  options: Options,
): Promise<Delivered & { result: ImageResult; bytes: number }> {
  const { parts, request, plan, call, routes } = options
  const { signal } = call.deadline
  const concurrency = parts.limits.imageCallsConcurrentMax
  const perCall = adapterOf(routes[0]!).picturesPerCall(routes[0]!)
  try {
    const answers = await splitCalls({ n: request.n, perCall, concurrency }, (count, index) =>
      call.tryRoutes(routes, (route) =>
        generate(concurrency, { request, plan, route, count, index, signal }),
      ),
    )
    const results = answers.map(({ value }) => value)
    const made = merge(results)
    const picture = traits(plan, made.pictures[0])
    const finish = (one: Picture) => parts.finishPicture(one, plan)
    const pictures = await Promise.all(made.pictures.map(finish))
    const bytes = pictures.reduce((sum, { base64 }) => sum + length(base64), 0)
    const usage = made.usage ?? { inputTokens: 0, outputTokens: 0, estimated: false }
    return {
      route: answers[0]!.route,
      usage: { ...usage, images: pictures.length },
      picture,
      result: { ...made, pictures },
      bytes,
    }
  } catch (error) {
    // What its siblings still make would be thrown away.
    call.deadline.abort(new ProviderFailure('cancelled', 'A sibling failed.', { cause: error }))
    throw error
  }
}

/** A route that makes fewer pictures a call than the first one did is called more than once. */
async function generate(concurrency: number, call: ImageCall): Promise<ImageResult> {
  const adapter = adapterOf(call.route)
  const perCall = adapter.picturesPerCall(call.route)
  const results = await splitCalls({ n: call.count, perCall, concurrency }, (count, index) =>
    adapter.generate({ ...call, count, index: call.index + index }),
  )
  const made = merge(results)
  if (made.pictures.length < call.count) {
    throw new ProviderFailure(
      'malformed',
      `The provider made ${made.pictures.length} of ${call.count} pictures.`,
    )
  }
  return { ...made, pictures: made.pictures.slice(0, call.count) }
}

function merge(results: readonly ImageResult[]): ImageResult {
  const usages = results.flatMap(({ usage }) => (usage === undefined ? [] : [usage]))
  const texts = results.flatMap(({ text }) => (text === undefined ? [] : [text]))
  return {
    pictures: results.flatMap(({ pictures }) => pictures),
    ...(usages.length === 0 ? {} : { usage: usages.reduce(add) }),
    ...(texts.length === 0 ? {} : { text: texts.join('\n') }),
  }
}

function add(a: Usage, b: Usage): Usage {
  const sum = (x = 0, y = 0) => x + y
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: sum(a.cachedInputTokens, b.cachedInputTokens),
    imageInputTokens: sum(a.imageInputTokens, b.imageInputTokens),
    imageOutputTokens: sum(a.imageOutputTokens, b.imageOutputTokens),
    images: a.images + b.images,
    estimated: a.estimated || b.estimated,
  }
}

/** What a price list of pictures goes by: what the vendor was asked for, else what it made. */
function traits(plan: ImagePlan, made: Picture | undefined): PictureTraits {
  const size = plan.vendorPixels ?? made
  return {
    ...(plan.sizeClass === undefined ? {} : { sizeClass: plan.sizeClass }),
    ...(plan.quality === undefined ? {} : { quality: plan.quality }),
    ...(size === undefined ? {} : { size: pixelsText(size) }),
  }
}

/** Only routes with an adapter are left when pictures are made. */
function adapterOf({ provider }: Route): ImageAdapter {
  return provider.image!
}

function length(base64: readonly Buffer[]): number {
  return base64.reduce((sum, piece) => sum + piece.length, 0)
}
