import {
  ImageBackgroundValues,
  ImageModerationValues,
} from '../../../../generated/client-values.ts'
import type { Schemas } from '../../data/api.ts'
import { anyModel } from '../../data/curl.ts'
import { call, type Mode } from '../../data/calling.ts'
import { abilityName, pricesOf } from '../../data/model-facts.ts'
import { shortCount, shortUsd } from '../../data/money.ts'

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

/** Prices per picture, or per million tokens. */
export function priceText(model: Model): string {
  const { input, output, unit } = pricesOf({ model })
  if (output === undefined) return 'price unknown'
  if (unit === undefined) return `${shortUsd(input ?? '0')} in, ${shortUsd(output)} out`
  return `${unit.endsWith('from') ? 'from ' : ''}${shortUsd(output)} per picture`
}

/** What distinguishes a model from others. */
export function abilitiesText(model: Model): string {
  const abilities = wanted.filter((what) => can(model, what)).map(abilityName)
  const { context_window: context } = model
  return [...abilities, ...(context ? [`${shortCount(context)} tokens`] : [])].join(' · ')
}

export const makesPictures = (model: Model): boolean =>
  can(model, 'image_generation') || can(model, 'image_edit')

export const makesPreviews = (model: Model): boolean => optionsOf([model]).previews

const listNames = [
  'size',
  'aspectRatio',
  'quality',
  'format',
  'background',
  'moderation',
  'fidelity',
] as const
type Lists = Record<(typeof listNames)[number], readonly string[]>

/** Options for pictures with what `of` returns for the name of each. */
export const listsOf = <Value>(of: (name: keyof Lists) => Value) =>
  // Each name is in the list.
  Object.fromEntries(listNames.map((name) => [name, of(name)])) as Record<keyof Lists, Value>

/** Values of each picture option; an option without values is not offered. */
export type ImageOptions = Lists & {
  seed: boolean
  /** Whether one of the models makes previews. */
  previews: boolean
  /** Maximum number of pictures to edit. */
  inputsMax: number
  inputsMin: number
}

/** Options that all given models support. */
export function optionsOf(models: readonly Model[]): ImageOptions {
  const [first = optionsIn(undefined), ...others] = models.map((one) => optionsIn(one.image_form))
  const all = [first, ...others]
  return {
    ...listsOf((name) =>
      first[name].filter((value) => all.every((one) => one[name].includes(value))),
    ),
    seed: all.every(({ seed }) => seed),
    previews: all.some(({ previews }) => previews),
    inputsMax: Math.min(...all.map(({ inputsMax }) => inputsMax)),
    inputsMin: Math.max(...all.map(({ inputsMin }) => inputsMin)),
  }
}

/** The options in the description of a request for images. */
function optionsIn(form: Model['image_form']): ImageOptions {
  const parameter = (name: string) => form?.parameters.find((one) => one.name === name)
  const values = (name: string) => parameter(name)?.values ?? []
  const size = parameter('size')
  const aspectRatio = values('image_config.aspect_ratio')
  return {
    // A ratio is combined with a class instead of pixels.
    size:
      aspectRatio.length > 0
        ? values('image_config.image_size')
        : (size?.values ?? size?.examples ?? []),
    aspectRatio,
    quality: values('quality'),
    format: values('output_format'),
    background: parameter('background') ? ImageBackgroundValues : [],
    moderation: parameter('moderation') ? ImageModerationValues : [],
    fidelity: values('input_fidelity'),
    seed: parameter('image_config.seed') !== undefined,
    previews: parameter('partial_images') !== undefined,
    inputsMax: form?.input_images?.maximum ?? 0,
    inputsMin: form?.input_images?.minimum ?? 0,
  }
}
