import type { components } from '../../generated/types.ts'
import type { ImagePlan } from './image-plan.ts'
import type { Problem } from './model.ts'
import type { Pieces } from './pieces.ts'
import type { Usage } from './price.ts'
import type { Route } from './route.ts'

type Schemas = components['schemas']
export type ImageFormat = Schemas['ImageFormat']
/** An input picture, fetched and checked, as base64 text that is the same for the same picture. */
export type ImageSource = { base64: Pieces; format: ImageFormat }
/** A request for pictures, whichever face it came through. */
export type AskedImage = Schemas['CanonicalImageRequest']
/** The same with the pictures that it starts from. */
export type ImageRequest = AskedImage & { sources: readonly ImageSource[] }

/** The input pictures of one request, each with the parameter that names it. */
export type NamedAddress = { address: string; param: string }
/** Base64 texts that were left out of a request, each by the ticket that stands in its place. */
export type LeftTexts = ReadonlyMap<string, Pieces>
export const noTexts: LeftTexts = new Map()
/**
 * Reads input pictures by HTTPS address or data URL, in order; a data URL may hold the ticket of its
 * text. Throws a GatewayError that names the parameter: 400 for what is no picture or cannot be
 * fetched, 413 for what is too large.
 */
export type ReadSources = (
  addresses: readonly NamedAddress[],
  signal: AbortSignal,
  texts?: LeftTexts,
) => Promise<ImageSource[]>

/** A picture as base64 text, in the pieces in which it arrived. */
export type Picture = {
  base64: Pieces
  format: ImageFormat
  width: number
  height: number
  revisedPrompt?: string
}
export type ImageResult = {
  pictures: Picture[]
  /** Token counts, when the vendor reports them. */
  usage?: Usage
  /** What the model wrote beside the pictures. */
  text?: string
  /** As the vendor says, or as it was asked. */
  quality?: string
  background?: NonNullable<ImageRequest['background']>
}

/** `count` pictures asked of one route in one upstream call; `index` is that of the first. */
export type ImageCall = {
  request: ImageRequest
  plan: ImagePlan
  route: Route
  count: number
  index: number
  signal: AbortSignal
}

export type ImageAdapter = {
  picturesPerCall(route: Route): number
  problems(request: ImageRequest, route: Route): Problem[]
  generate(call: ImageCall): Promise<ImageResult>
}

const seedMax = 2_147_483_647

/** The seed of the picture at `index`: vendors make the same picture again from the same seed. */
export function seedOf({ plan, index }: Pick<ImageCall, 'plan' | 'index'>): { seed?: number } {
  return plan.seed === undefined ? {} : { seed: (plan.seed + index) % (seedMax + 1) }
}

/**
 * Splits `n` pictures over upstream calls of at most `perCall`, at most `concurrency` of them at a
 * time, and gives the answers in order. The first failure stops the rest.
 */
export async function splitCalls<T>(
  { n, perCall, concurrency }: { n: number; perCall: number; concurrency: number },
  call: (count: number, index: number) => Promise<T>,
): Promise<T[]> {
  const starts = Array.from({ length: Math.ceil(n / perCall) }, (_, i) => i * perCall)
  const answers: T[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < starts.length) {
      const position = next++
      const index = starts[position]!
      try {
        answers[position] = await call(Math.min(perCall, n - index), index)
      } catch (error) {
        next = starts.length
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, starts.length) }, worker))
  return answers
}
