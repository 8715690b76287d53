import { ProviderFailure } from '../../core/failure.ts'
import type { ImageAdapter, ImageCall, ImageResult } from '../../core/image.ts'
import { pixelsText } from '../../core/image-size.ts'
import { readPicture } from '../../core/picture.ts'
import type { Usage } from '../../core/price.ts'
import { base64Reader, type SplicedJson } from '../base64-reader.ts'
import { receive } from '../upstream.ts'
import { readFailure } from './failure.ts'
import { requestsTo, type OpenAiEndpoint } from './wire.ts'

type WireImages = {
  data?: { b64_json?: string; revised_prompt?: string }[]
  usage?: {
    input_tokens?: number
    output_tokens?: number
    input_tokens_details?: { image_tokens?: number }
  }
}

/** Pictures over `POST /images/generations`; their base64 is passed on, not parsed. */
export function imageAdapter(endpoint: OpenAiEndpoint): ImageAdapter {
  const { dispatch, keys, limits } = endpoint
  const requestTo = requestsTo(endpoint)
  const bytesMax = limits.answerBytesMax
  return {
    picturesPerCall: ({ model }) => model.row.image?.images_per_call_max ?? 1,
    problems: ({ sources }, { provider }) =>
      sources.length === 0
        ? []
        : [{ param: 'images', message: `The provider '${provider.id}' edits no images here yet.` }],
    generate: (call) => {
      const sent = requestTo('/images/generations', wireRequest(call, endpoint))
      return receive({ dispatch, request: sent, signal: call.signal, bytesMax }, (head) => {
        if (head.status !== 200) return readFailure(head, keys)
        const reader = base64Reader('b64_json')
        return { push: reader.push, finish: () => readImages(reader.finish()) }
      })
    },
  }
}

function wireRequest(call: ImageCall, { imageFields }: OpenAiEndpoint): object {
  const { request, plan, route, count, index } = call
  return {
    model: route.upstreamModel,
    prompt: request.prompt,
    n: count,
    ...(plan.vendorPixels === undefined ? {} : { size: pixelsText(plan.vendorPixels) }),
    ...(plan.quality === undefined ? {} : { quality: plan.quality }),
    ...(plan.vendorFormat === undefined ? {} : { output_format: plan.vendorFormat }),
    ...(plan.seed === undefined ? {} : { seed: plan.seed + index }),
    ...(request.background === undefined ? {} : { background: request.background }),
    ...(request.user === undefined ? {} : { user: request.user }),
    ...imageFields?.(call),
  }
}

function readImages({ json, texts }: SplicedJson): ImageResult {
  const { data = [], usage } = (json ?? {}) as WireImages
  const pictures = data.map(({ b64_json: mark = '', revised_prompt: revisedPrompt }) => {
    const picture = readPicture(texts[Number(mark.slice(1))] ?? [])
    if (picture === undefined) {
      throw new ProviderFailure('malformed', 'The answer holds something that is not a picture.')
    }
    return revisedPrompt === undefined ? picture : { ...picture, revisedPrompt }
  })
  if (pictures.length === 0) throw new ProviderFailure('malformed', 'The answer holds no picture.')
  const counted = readUsage(usage)
  return counted === undefined ? { pictures } : { pictures, usage: counted }
}

function readUsage(usage: WireImages['usage']): Usage | undefined {
  if (typeof usage?.output_tokens !== 'number') return undefined
  return {
    inputTokens: usage.input_tokens ?? 0,
    outputTokens: usage.output_tokens,
    imageInputTokens: usage.input_tokens_details?.image_tokens ?? 0,
    imageOutputTokens: usage.output_tokens,
    images: 0,
    estimated: false,
  }
}
