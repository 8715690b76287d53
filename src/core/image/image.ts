import type { components } from '../../../generated/types.ts'
import type { Pieces } from '../../bytes/pieces.ts'
import type { Target } from '../model.ts'
import type { Usage } from '../price.ts'

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

export type Pixels = { width: number; height: number }

export type SizePlan = {
  /** Pixels that the vendor is asked for, or is known to make; absent when the model decides. */
  vendorPixels?: Pixels
  /** Set where the vendor is asked for a class and a ratio instead of pixels. */
  sizeClass?: string
  aspectRatio?: string
  /** Exactly these pixels are delivered; the vendor's own when absent. */
  targetPixels?: Pixels
}

/** What is asked of the vendor, and what is then made of its pictures. */
export type ImagePlan = SizePlan & {
  /** Sent to the vendor, when it has such a setting. */
  quality?: string
  /** The format that the vendor is asked for, when it has such a setting. */
  vendorFormat?: ImageFormat
  /** The format of the delivered picture; the vendor's own when absent. */
  targetFormat?: ImageFormat
  compression?: number
  /** The vendor compresses as it is told; a picture that is right is not compressed again. */
  vendorCompresses?: true
  inputFidelity?: string
  seed?: number
  style?: string
  /** Who the picture is for, where the vendor is told. */
  user?: string
  /** The pixels that the caller named, whatever the vendor then makes. */
  askedPixels?: Pixels
}

/** `count` pictures asked of one target in one upstream call; `index` is that of the first. */
export type ImageCall = {
  request: ImageRequest
  plan: ImagePlan
  target: Target
  count: number
  index: number
  signal: AbortSignal
}

export type ImageAdapter = {
  /** How many pictures one upstream call makes at most. */
  picturesPerCall(target: Target): number
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
