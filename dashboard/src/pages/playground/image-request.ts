import { ImageEditQualityValues, ImageEditSizeValues } from '../../../../generated/client-values.ts'
import type { Schemas } from '../../data/api.ts'
import { listsOf, makesPreviews, optionsOf, type ImageOptions, type Model } from './models.ts'

/** Options for pictures; an empty text means the model's default. */
export type Choice = {
  prompt: string
  n: number
  size: string
  aspectRatio: string
  quality: string
  background: string
  format: string
  compression: string
  seed: string
  moderation: string
  fidelity: string
  /** Number of previews while a picture is made. */
  previews: string
}

export const noChoice: Choice = {
  prompt: '',
  n: 1,
  size: '',
  aspectRatio: '',
  quality: '',
  background: '',
  format: '',
  compression: '',
  seed: '',
  moderation: '',
  fidelity: '',
  previews: '',
}

/** A call below /v1, as an API client would send it. */
export type Request = {
  operation: Extract<
    Schemas['QuotedOperation'],
    'createImage' | 'createImageEdit' | 'createChatCompletion'
  >
  path: string
  body: object
  /** Number of previews while a picture is made, which the body does not have. */
  previews: number
}

const paths: Record<Request['operation'], string> = {
  createImage: '/v1/images/generations',
  createImageEdit: '/v1/images/edits',
  createChatCompletion: '/v1/chat/completions',
}
export const requestOf = (
  operation: Request['operation'],
  body: object,
  previews = 0,
): Request => ({ operation, path: paths[operation], body, previews })

/** Number of pictures that a request asks for. */
export function countOf({ body }: Request): number {
  const { n, image_config: config } = body as { n?: number; image_config?: { n?: number } }
  return n ?? config?.n ?? 1
}

/** The body of a request that is watched, as a job or as a stream. */
export const watchedBody = ({ body, previews }: Request): object =>
  previews === 0 ? body : { ...body, partial_images: previews }

/** The contract's values of `partial_images`; the default is none. */
export const previewCounts = ['1', '2', '3']

/** Removes values that the options do not offer, before a price quote or a call. */
export function withinOptions(choice: Choice, options: ImageOptions, isEdit: boolean): Choice {
  const offered = offeredOf(options, isEdit)
  const kept = (value: string, values: readonly string[]) => (values.includes(value) ? value : '')
  return {
    ...choice,
    ...listsOf((name) => kept(choice[name], offered[name])),
    previews: kept(choice.previews, previewCounts),
    seed: options.seed ? choice.seed : '',
    compression: ['jpeg', 'webp'].includes(choice.format) ? choice.compression : '',
  }
}

const choiceNames: Partial<Record<keyof Choice, string>> = {
  size: 'the size',
  aspectRatio: 'the aspect ratio',
  quality: 'the quality',
  format: 'the format',
  fidelity: 'the fidelity',
  background: 'a background',
  moderation: 'moderation',
  seed: 'a seed',
}

/** Requested features that a model does not support; `count` is the number of pictures to edit. */
export function imageLacks(model: Model, choice: Choice, count: number): string[] {
  const options = optionsOf([model])
  const kept = withinOptions(choice, options, count > 0)
  const names = (Object.keys(choiceNames) as (keyof Choice)[]).filter(
    (name) => choice[name] !== kept[name],
  )
  return [
    ...(count > options.inputsMax
      ? [`edit ${count === 1 ? 'a picture' : `${count} pictures`}`]
      : []),
    ...(count < options.inputsMin && count === 0
      ? ['create a picture without an input picture']
      : []),
    ...names.map((name) => `use ${choiceNames[name]} ${choice[name]}`),
  ]
}

/** Values to offer for each option; the images API accepts fewer values for edits. */
export function offeredOf(options: ImageOptions, isEdit: boolean): ImageOptions {
  const isByClass = options.aspectRatio.length > 0
  const within = (values: readonly string[], most: readonly string[]) =>
    isEdit && !isByClass ? values.filter((value) => most.includes(value)) : values
  return {
    ...options,
    size: within(options.size, ImageEditSizeValues),
    quality: within(options.quality, ImageEditQualityValues),
    fidelity: isEdit ? options.fidelity : [],
    moderation: isEdit ? [] : options.moderation,
  }
}

/**
 * Builds a request for pictures; `inputs` are URLs of pictures to edit. Size classes, aspect ratios and seeds
 * need a chat request with `image_config`. All other requests use the images API, which can make them a job.
 */
export function imageRequest(model: Model, choice: Choice, inputs: readonly string[]): Request {
  const isByClass = optionsOf([model]).aspectRatio.length > 0
  const hasClass = [choice.size, choice.aspectRatio, choice.quality].some((value) => value !== '')
  if ((isByClass && hasClass) || choice.seed !== '') return chatRequest(model, choice, inputs)
  const body = {
    model: model.id,
    prompt: choice.prompt,
    ...(inputs.length > 0 ? { images: inputs.map((image_url) => ({ image_url })) } : {}),
    ...(choice.n === 1 ? {} : { n: choice.n }),
    ...given('size', choice.size),
    ...given('quality', choice.quality),
    ...given('background', choice.background),
    ...given('output_format', choice.format),
    ...number('output_compression', choice.compression),
    ...given('moderation', choice.moderation),
    ...given('input_fidelity', choice.fidelity),
  }
  const previews = makesPreviews(model) ? Number(choice.previews) : 0
  return requestOf(inputs.length > 0 ? 'createImageEdit' : 'createImage', body, previews)
}

function chatRequest({ id }: Model, choice: Choice, inputs: readonly string[]): Request {
  const config = {
    ...given('aspect_ratio', choice.aspectRatio),
    ...given('image_size', choice.size),
    ...given('quality', choice.quality),
    ...number('seed', choice.seed),
    ...given('output_format', choice.format),
    ...(choice.n === 1 ? {} : { n: choice.n }),
  }
  const content =
    inputs.length === 0
      ? choice.prompt
      : [
          { type: 'text', text: choice.prompt },
          ...inputs.map((url) => ({ type: 'image_url', image_url: { url } })),
        ]
  const messages = [{ role: 'user', content }]
  const isEmpty = Object.keys(config).length === 0
  return requestOf('createChatCompletion', {
    model: id,
    messages,
    ...(isEmpty ? {} : { image_config: config }),
  })
}

function given(name: string, value: string): object {
  return value === '' ? {} : { [name]: value }
}

function number(name: string, value: string): object {
  return value.trim() === '' ? {} : { [name]: Number(value) }
}
