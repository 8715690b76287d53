import type { Model } from '../model.ts'
import type { UpperUsage, ExactUsage } from '../money/upper-cost.ts'
import { picturesPerCall } from './generate.ts'
import type { ImageRequest, ImagePlan } from './image.ts'
import { largestPixels } from './size.ts'
import { noUsage } from '../money/price.ts'
import type { Route } from '../route.ts'
import { plannedTraits } from './run.ts'

/** Upper bound of the tokens of an input picture at any vendor. */
const pictureTokens = 16_384
/** Tokens that vendors add to a prompt. */
const overheadTokens = 1024

/**
 * Upper bound of the usage of planned pictures (docs/behaviour.md#budgets). Each picture may take a
 * separate call, which reads the prompt and all input pictures.
 */
export function upperImageUsage(
  { prompt, n }: ImageRequest,
  { row }: Model,
  plan: ImagePlan,
  sourceCount: number,
): UpperUsage {
  const { sources = sourceCount } = plan
  const { width, height } = largestPixels(row.image?.size)
  return {
    inputTokens: n * (overheadTokens + Buffer.byteLength(prompt) + sources * pictureTokens),
    outputTokens: n * (row.max_output_tokens ?? row.context_window ?? Infinity),
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
export function exactImageUsage(
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
