import type { Schemas } from '../../data/api.ts'
import { ImageSizeClassValues } from '../../../../generated/client-values.ts'
import { anyModel } from '../../data/curl.ts'
import { call, type Mode } from '../../data/calling.ts'

export type Model = Schemas['Model']

/** Maximum number of models that are called side by side. */
export const modelsMax = 3

/** Models of the playground that the person may call. */
export async function loadModels(mode: Mode, signal: AbortSignal): Promise<readonly Model[]> {
  const response = await call('/v1/models', undefined, { mode, method: 'GET', signal })
  const { data } = (await response.json()) as Schemas['ModelList']
  return data.filter(({ status, embedding }) => status !== 'deactivated' && embedding == null)
}

export const can = (model: Model, what: string): boolean => model.capabilities?.[what] === true

/** Capabilities that a good default model has. */
const wanted = ['tools', 'vision', 'reasoning', 'json_schema', 'image_generation', 'image_edit']

/**
 * Default model: `anyModel` when available, else the model of median price among those with most
 * capabilities.
 */
export function goodFirst(models: readonly Model[]): Model | undefined {
  const alone = models.filter(
    ({ status, image }) => status === 'active' && (image?.reference_images_min ?? 0) === 0,
  )
  const does = (model: Model) => wanted.filter((what) => can(model, what)).length
  const most = Math.max(...alone.map(does))
  const best = alone.filter((model) => does(model) === most)
  const byPrice = best.toSorted((one, other) => priceOf(one) - priceOf(other))
  const middle = byPrice[Math.floor((byPrice.length - 1) / 2)]
  return alone.find(({ id }) => id === anyModel) ?? middle ?? models[0]
}

/** Price for sorting, in dollars: per cheapest picture, or per million output tokens. */
function priceOf({ pricing }: Model): number {
  const pictures = (pricing.per_image ?? []).map(({ usd }) => Number(usd))
  return pictures.length > 0
    ? Math.min(...pictures)
    : Number(
        pricing.output_per_million_tokens ?? pricing.image_output_per_million_tokens ?? Infinity,
      )
}

export const makesPictures = (model: Model): boolean =>
  can(model, 'image_generation') || can(model, 'image_edit')

export const makesPreviews = ({ image }: Model): boolean => image?.partial_images === true

/** Values of each picture option; an option without values is not offered. */
export type ImageOptions = {
  size: readonly string[]
  aspectRatio: readonly string[]
  quality: readonly string[]
  background: boolean
  seed: boolean
  moderation: boolean
  fidelity: readonly string[]
  /** Whether one of the models makes previews. */
  previews: boolean
  /** Maximum number of pictures to edit. */
  inputsMax: number
  inputsMin: number
}

/** Options that all given models support. */
export function optionsOf(models: readonly Model[]): ImageOptions {
  const all = models.map(optionsOfOne)
  const [first] = all
  if (first === undefined) return nothing
  const both = (name: 'size' | 'aspectRatio' | 'quality' | 'fidelity') =>
    first[name].filter((value) => all.every((one) => one[name].includes(value)))
  const every = (name: 'background' | 'seed' | 'moderation') => all.every((one) => one[name])
  return {
    size: both('size'),
    aspectRatio: both('aspectRatio'),
    quality: both('quality'),
    fidelity: both('fidelity'),
    background: every('background'),
    seed: every('seed'),
    moderation: every('moderation'),
    previews: models.some(makesPreviews),
    inputsMax: Math.min(...all.map(({ inputsMax }) => inputsMax)),
    inputsMin: Math.max(...all.map(({ inputsMin }) => inputsMin)),
  }
}

const nothing: ImageOptions = {
  size: [],
  aspectRatio: [],
  quality: [],
  fidelity: [],
  previews: false,
  background: false,
  seed: false,
  moderation: false,
  inputsMax: 0,
  inputsMin: 0,
}

function optionsOfOne(model: Model): ImageOptions {
  const { image } = model
  if (!image) return nothing
  return {
    size: sizesOf(image.size),
    aspectRatio: image.size.kind === 'classes' ? (image.size.aspect_ratios ?? []) : [],
    quality: image.qualities ?? [],
    background: can(model, 'transparency'),
    seed: can(model, 'seed'),
    moderation: image.moderation === true,
    fidelity: image.input_fidelities ?? [],
    previews: makesPreviews(model),
    inputsMax: can(model, 'image_edit') ? image.reference_images_max : 0,
    inputsMin: image.reference_images_min,
  }
}

const usualSizes = ['1024x1024', '1536x1024', '1024x1536', '2048x2048', '4096x4096']

/** Sizes to offer. For a model with free sizes: its recommended sizes, and common sizes within its bounds. */
function sizesOf(rule: NonNullable<Model['image']>['size']): readonly string[] {
  if (rule.kind === 'none') return []
  if (rule.kind === 'classes') {
    const known: readonly string[] = ImageSizeClassValues
    return (rule.size_classes ?? []).filter((one) => known.includes(one))
  }
  const usual = rule.kind === 'free' ? usualSizes.filter((size) => fits(size, rule)) : []
  return [...new Set([...(rule.sizes ?? []), ...usual])]
}

function fits(
  size: string,
  { side_max: most = Infinity, side_min: least = 0, ...rule }: NonNullable<Model['image']>['size'],
): boolean {
  const [width = 0, height = 0] = size.split('x').map(Number)
  const pixels = width * height
  const isWithin = pixels <= (rule.pixels_max ?? Infinity) && pixels >= (rule.pixels_min ?? 0)
  return isWithin && Math.max(width, height) <= most && Math.min(width, height) >= least
}
