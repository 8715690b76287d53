import type { components } from '../../../generated/types.ts'
import type { Hold } from '../../bytes/budget.ts'
import type { Pieces } from '../../bytes/pieces.ts'
import type { CatalogModel, Target, Warning } from '../model.ts'
import type { Usage } from '../money/price.ts'
import type { TraceHeaders } from '../trace.ts'

type Schemas = components['schemas']
export type ImageFormat = Schemas['ImageFormat']
/** An input picture, fetched and checked, as canonical base64: equal bytes have equal text. */
export type ImageSource = { base64: Pieces; format: ImageFormat; width: number; height: number }
/** The canonical image request, whichever face it came through, without its input pictures. */
export type AskedImage = {
  model: string
  /** Models to fall back on, in order. */
  models?: readonly string[]
  prompt: string
  n: number
  size?: Schemas['ImageSize']
  sizeClass?: string
  aspectRatio?: string
  quality?: Schemas['ImageQuality']
  style?: Schemas['ImageStyle']
  background?: Schemas['ImageBackground']
  inputFidelity?: Schemas['ImageInputFidelity']
  outputFormat?: ImageFormat
  outputCompression?: Schemas['ImageCompression']
  seed?: Schemas['ImageSeed']
  moderation?: Schemas['ImageModeration']
  user?: string
}
/** The same with its input pictures. */
export type ImageRequest = AskedImage & { sources: readonly ImageSource[] }

/** The address of an input picture, and the request parameter that holds it. */
export type NamedAddress = { address: string; param: string }
/** Large base64 texts that were cut out of a request, by the ticket that replaces each of them. */
export type LeftTexts = ReadonlyMap<string, Pieces>
export const noTexts: LeftTexts = new Map()
/**
 * Reads input pictures from HTTPS addresses or data URLs, in order; a data URL may hold the ticket
 * of its text. Throws a GatewayError that names the parameter: 400 when it is not a picture or
 * cannot be fetched, 413 when it is too large.
 */
export type ReadSources = (
  addresses: readonly NamedAddress[],
  call: Pick<ImageCall, 'signal' | 'hold'>,
  texts?: LeftTexts,
) => Promise<ImageSource[]>

/**
 * Checks a picture of a conversation without fetching it, and gives its address with its true media
 * type, with a warning where it named another. Throws a GatewayError that names the parameter.
 */
export type CheckPicture = (named: NamedAddress, texts: LeftTexts, warnings: Warning[]) => string

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
  /** Text that the model wrote along with the pictures. */
  text?: string
  /** As reported by the vendor, else as requested. */
  quality?: string
  background?: NonNullable<ImageRequest['background']>
}

export type Pixels = { width: number; height: number }

export type SizePlan = {
  /** Pixels that are requested of the vendor, or that it is known to make; absent if it decides. */
  vendorPixels?: Pixels
  /** Set when a class and a ratio are requested of the vendor instead of pixels. */
  sizeClass?: string
  aspectRatio?: string
  /** The size to scale and crop to; when absent the vendor's size is delivered. */
  targetPixels?: Pixels
}

/** What is requested of the vendor, and how its pictures are then converted. */
export type ImagePlan = SizePlan & {
  /** Sent to the vendor if it has such a setting. */
  quality?: string
  /** Sent to the vendor if it has such a setting. */
  vendorFormat?: ImageFormat
  /** The format of the delivered picture; when absent the vendor's format is delivered. */
  targetFormat?: ImageFormat
  /** 0 to 100, for JPEG and WebP. */
  compression?: number
  /** The vendor applies `compression` itself, so a matching picture is not compressed again. */
  vendorCompresses?: true
  inputFidelity?: string
  /** Sent to the vendor if it has a choice of backgrounds. */
  background?: NonNullable<AskedImage['background']>
  moderation?: NonNullable<AskedImage['moderation']>
  seed?: number
  style?: string
  /** The end user's identifier, if the vendor takes one. */
  user?: string
  /** The pixels that the caller requested, whatever the vendor makes. */
  askedPixels?: Pixels
}

/** A picture as it is delivered. */
export type FinishedPicture = {
  picture: Picture
  /** The setting for which it was converted, when its vendor's content credentials were lost. */
  credentialsLostFor?: 'size' | 'output_format' | 'output_compression' | undefined
}
/** Converts a vendor's picture as planned. Throws a ProviderFailure if it is broken. */
export type FinishPicture = (picture: Picture, plan: ImagePlan) => Promise<FinishedPicture>

/**
 * A smaller copy of a picture with at most so many bytes of base64; undefined when none is that small.
 * Throws a ProviderFailure when there is no room for the work.
 */
export type ShrinkPicture = (picture: Picture, bytesMax: number) => Promise<Picture | undefined>

/** One upstream call for `count` pictures of the request's `n`; the first of them is at `index`. */
export type ImageCall = {
  request: ImageRequest
  plan: ImagePlan
  target: Target
  count: number
  index: number
  signal: AbortSignal
  /** What the call holds of the memory. */
  hold: Hold
  /** Of this try, for vendors that take one; a try may make several calls. */
  idempotencyKey: string | undefined
  /** What names this try in a trace to its vendor. */
  traceHeaders: TraceHeaders | undefined
}

/** What a model's pictures can be, as a catalog row says it. */
export type DescribedImages = Pick<CatalogModel, 'image'> & {
  capabilities: Readonly<Record<string, boolean>>
}

export type ImageAdapter = {
  /** Describes the models that have no catalog row; without it everything is left to them. */
  unlisted?: DescribedImages
  /** Its vendor tells what it charges, which counts instead of the catalog's price. */
  reportsCost?: true
  /** The most pictures that one upstream call makes. */
  picturesPerCall(target: Target): number
  /** Throws a ProviderFailure. */
  generate(call: ImageCall): Promise<ImageResult>
}

/** The largest seed of a picture; the smallest is 0. */
export const seedMax = 2_147_483_647

/** The seed of the picture at `index`: counted up, since equal seeds would give equal pictures. */
export function seedOf({ plan, index }: Pick<ImageCall, 'plan' | 'index'>): { seed?: number } {
  return plan.seed === undefined ? {} : { seed: (plan.seed + index) % (seedMax + 1) }
}

type Split<T> = {
  n: number
  perCall: number
  concurrency: number
  /** Receives the answers in order. */
  answers: T[]
  /** Called with the first failure. */
  onFailure?: (error: unknown) => void
}

/**
 * Splits `n` pictures over upstream calls of at most `perCall`, at most `concurrency` of them at a
 * time. Rejects with the first failure: no call starts after it, and those under way end first,
 * since their pictures are charged.
 */
export async function splitCalls<T>(
  { n, perCall, concurrency, answers, onFailure }: Split<T>,
  call: (count: number, index: number) => Promise<T>,
): Promise<void> {
  const starts = Array.from({ length: Math.ceil(n / perCall) }, (_, i) => i * perCall)
  const failures: unknown[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < starts.length) {
      const position = next++
      const index = starts[position]!
      try {
        answers[position] = await call(Math.min(perCall, n - index), index)
      } catch (error) {
        next = starts.length
        if (failures.push(error) === 1) onFailure?.(error)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, starts.length) }, worker))
  if (failures.length > 0) throw failures[0]
}
