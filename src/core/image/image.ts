import type { components } from '../../../generated/types.ts'
import type { Pieces } from '../../bytes/pieces.ts'
import type { CatalogModel, Target, Warning } from '../model.ts'
import type { Usage } from '../money/price.ts'
import { runParts } from '../resilience/parts.ts'
import type { Turn } from '../turn.ts'

type Schemas = components['schemas']
export type ImageFormat = Schemas['ImageFormat']
/**
 * An input picture, fetched and checked, as canonical base64: equal bytes have equal text. The gateway has no
 * decoder for HEIC and HEIF, so these are sent unchanged and their width and height are 0, which means unknown.
 */
export type ImageSource = Pixels & {
  base64: Pieces
  format: ImageFormat | 'heic' | 'heif'
  /** The request parameter that holds the picture. */
  param: string
}
export type PromptText = { text: string; isInstruction: boolean }
/** What separates the texts of a prompt. */
export const textSeparator = '\n\n'
export function joinTexts(texts: readonly PromptText[]): string {
  return texts.map(({ text }) => text).join(textSeparator)
}

/** The canonical image request, the same for each API, without its input pictures. */
export type ImageRequest = {
  model: string
  /** Models to fall back on, in order. */
  models?: readonly string[]
  prompt: string
  /** The texts of a conversation that make the prompt, instructions first; absent for a single text. */
  texts?: readonly PromptText[]
  n: number
  size?: Schemas['ImageSize']
  sizeClass?: string
  aspectRatio?: string
  quality?: Schemas['ImageQuality'] | NonNullable<Schemas['ImageConfigIdeogram']['quality']>
  style?: Schemas['ImageStyle']
  background?: Schemas['ImageBackground']
  inputFidelity?: Schemas['ImageInputFidelity']
  outputFormat?: ImageFormat
  outputCompression?: Schemas['ImageCompression']
  seed?: Schemas['ImageSeed']
  moderation?: Schemas['ImageModeration']
  complexity?: Schemas['ImageComplexity']
  user?: string
  safetyIdentifier?: string
  /** Options that only one vendor has, as the schema of its `image_config` describes them. */
  options?: Readonly<Record<string, unknown>>
}
export type FullImageRequest = ImageRequest & {
  sources: readonly ImageSource[]
  /** Where the last input picture is painted; as large as this picture. */
  mask?: ImageSource
}

/** The address of an input picture, and the request parameter that holds it. */
export type NamedAddress = { address: string; param: string }
/** Large base64 texts that were extracted from a request, by the placeholder in its JSON. */
export type ExtractedTexts = ReadonlyMap<string, Pieces>
export const noTexts: ExtractedTexts = new Map()
/**
 * Reads input pictures from HTTPS or data URLs, in order; a data URL may contain the placeholder of an
 * extracted text. Throws a GatewayError that names the parameter: 400 when it is not a picture or
 * cannot be fetched, 413 when it is too large. `takesHeic`: HEIC and HEIF are read too.
 */
export type ReadSources = (
  addresses: readonly NamedAddress[],
  call: Pick<Turn, 'signal' | 'memory'> & { takesHeic?: boolean | undefined },
  texts?: ExtractedTexts,
) => Promise<ImageSource[]>

/**
 * Checks a picture of a conversation without fetching it, and returns its URL with the detected media
 * type; warns when the declared type differs. Throws a GatewayError that names the parameter.
 */
export type CheckPicture = (
  named: NamedAddress,
  texts: ExtractedTexts,
  warnings: Warning[],
) => string

/** A picture as base64 text, in the pieces in which it arrived. */
export type Picture = Pixels & { base64: Pieces; format: ImageFormat; revisedPrompt?: string }
export type ImageResult = {
  pictures: Picture[]
  /** Token counts; absent when the vendor reports none. */
  usage?: Usage
  /** Text that the model wrote along with the pictures. */
  text?: string
  /** The quality that the vendor reports, else the requested quality. */
  quality?: string
  background?: NonNullable<FullImageRequest['background']>
}

/** A picture that the vendor has not finished. Its format and size are those of its own bytes. */
export type PartialPicture = AboutPictures & {
  picture: Picture
  /** The place of the picture in the answer, from 0. */
  imageIndex: number
  /** Counts the partial images of this picture, from 0; counts again after a failover. */
  partialIndex: number
}

/** Receives pictures during a call, in functions that must not throw. It is not a part of the cache key. */
export type ImageWatch = {
  /** The partial images to request of each picture. */
  partialImages: number
  partial?(partial: PartialPicture): void
  /**
   * Receives each finished picture when there are several; the result has all of them again. Not called for a
   * cached answer, nor for the answer of an identical call.
   */
  finished?(picture: Picture, imageIndex: number, about: AboutPictures): void
  /** Whether the caller has a finished picture: no other model is tried, since pictures of an answer have one. */
  hasDelivered?(): boolean
}
/** The settings of pictures that an answer reports. */
export type AboutPictures = Pick<ImageResult, 'quality' | 'background'>

export type Pixels = { width: number; height: number }

export type SizePlan = {
  /** The size that is requested from the vendor, or its fixed size; absent if the vendor decides. */
  vendorPixels?: Pixels
  /** Set when a size class and an aspect ratio are requested instead of pixels. */
  sizeClass?: string
  aspectRatio?: string
  /** The size to scale and crop to; when absent the vendor's size is delivered. */
  targetPixels?: Pixels
}

/** Settings that are sent unchanged to models that have them. */
export type SentSettings = Pick<
  ImageRequest,
  'seed' | 'style' | 'moderation' | 'complexity' | 'user' | 'safetyIdentifier' | 'inputFidelity'
>

/** The request to the vendor, and the conversion of its pictures. */
export type ImagePlan = SizePlan &
  Partial<SentSettings> & {
    /** The vendor's own options that the model takes. */
    options?: NonNullable<ImageRequest['options']>
    /** The prompt, if the model's prompt is too short for all texts of the conversation. */
    prompt?: string
    /** How many of the newest input pictures are sent; all when absent. */
    sources?: number
    /** The quality, sent only to vendors with a quality setting. */
    quality?: string
    /** The format, sent only to vendors with a choice of formats. */
    vendorFormat?: ImageFormat
    /** The format of the delivered picture; when absent the vendor's format is delivered, except SVG. */
    targetFormat?: ImageFormat
    /** Whether the vendor's picture may be an SVG, since its format is not known. */
    mayBeSvg?: true
    /** A call of the vendor makes one picture, whatever the model makes otherwise. */
    isSingle?: true
    /** 0 to 100, for JPEG and WebP. */
    compression?: number
    /** The vendor applies `compression` itself, so a matching picture is not compressed again. */
    vendorCompresses?: true
    /** The background, sent only to vendors with a choice of backgrounds. */
    background?: NonNullable<ImageRequest['background']>
    /** How many partial images the vendor is asked for; each picture is then a call of its own. */
    partialImages?: number
    /** The pixels that the caller requested, whatever the vendor makes. */
    requestedPixels?: Pixels
  }

/** A picture in its delivered form. */
export type FinishedPicture = {
  picture: Picture
  /** The setting whose conversion removed the vendor's content credentials; absent if none were lost. */
  credentialsLostFor?: 'size' | 'output_format' | 'output_compression' | undefined
}
export type Conversion = {
  /** Throws a GatewayError if pictures in the format `format` cannot be converted as planned. */
  check(plan: ImagePlan, format: ImageFormat | undefined): void
  /** Throws a ProviderFailure if a planned conversion finds too many waiting pictures. */
  assertRoom(plan: ImagePlan): void
  /**
   * Converts a vendor's picture as planned, in its turn. Throws a ProviderFailure if the picture is broken, or
   * the reason of the signal.
   */
  finish(picture: Picture, plan: ImagePlan, signal: AbortSignal): Promise<FinishedPicture>
}

/**
 * Shrinks a picture to at most `bytesMax` bytes of base64; undefined when that is not possible. Throws a
 * ProviderFailure when the queue is full.
 */
export type ShrinkPicture = (picture: Picture, bytesMax: number) => Promise<Picture | undefined>

/** One upstream call for `count` pictures of the request's `n`; the first of these pictures is at `index`. */
export type ImageCall = {
  request: FullImageRequest
  plan: ImagePlan
  target: Target
  count: number
  index: number
  turn: Turn
  /** Whether the call may wait until the vendor has a free slot, since no other route is left. */
  mayWait?: boolean
  /** Receives partial images, as many as planned; adapters of vendors without them ignore it. */
  onPartial?: ImageWatch['partial']
}

/** The image abilities in a catalog row. */
export type DescribedImages = Pick<CatalogModel, 'image'> & {
  capabilities: Readonly<Record<string, boolean>>
}

export type ImageAdapter = {
  /** The abilities of models without a catalog row; when absent, no setting is checked. */
  unlisted?: DescribedImages
  /** The vendor reports its charge, which replaces the catalog's price. */
  reportsCost?: true
  /** The most pictures that one upstream call makes. */
  picturesPerCall(target: Target): number
  /** Makes the pictures of one call. Throws a ProviderFailure. */
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
  /** The answers in order, added as they arrive. */
  answers: T[]
  /** Called with the first failure. */
  onFailure?: ((error: unknown) => void) | undefined
}

/**
 * Splits `n` pictures over upstream calls of at most `perCall`, at most `concurrency` of them at a time;
 * rejects as `runParts`.
 */
export function splitCalls<T>(
  { n, perCall, ...running }: Split<T>,
  call: (count: number, index: number) => Promise<T>,
): Promise<void> {
  const parts: number[] = []
  for (let index = 0; index < n; index += perCall) parts.push(index)
  return runParts({ parts, ...running }, (index) => call(Math.min(perCall, n - index), index))
}
