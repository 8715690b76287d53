import type { components } from '../../../generated/types.ts'
import { afterSpending, ProviderFailure, type FailureKind } from '../../core/failure.ts'
import {
  seedOf,
  type ImageAdapter,
  type ImageCall,
  type ImagePlan,
  type ImageResult,
  type Picture,
} from '../../core/image/image.ts'
import { readMade } from '../../core/image/picture.ts'
import { pixelsText } from '../../core/image/size.ts'
import { noUsage } from '../../core/money/price.ts'
import { prune } from '../../core/prune.ts'
import { complaintOf } from '../openai-compatible/complaint.ts'
import type { Complaint } from '../transport/complaint.ts'
import { jsonRequests } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { failureReader, kindOfStatus } from '../transport/http-failure.ts'
import { receive } from '../transport/upstream.ts'
import { base64Reader, type SplicedJson } from '../wire/base64-reader.ts'
import { pictureUrl, printJson } from '../wire/long-text.ts'
import { costOf } from '../wire/reported-cost.ts'

type Options = components['schemas']['ImageConfigRecraft']
type WireAnswer = { credits?: unknown; data?: { b64_json?: string; revised_prompt?: unknown }[] }

/** Pictures of `/images/generations` and `/images/imageToImage`, in pixels and vectors. */
export function imageAdapter(endpoint: Endpoint): ImageAdapter {
  const { dispatch, texts, limits } = endpoint
  const requestTo = jsonRequests(endpoint, { print: printJson })
  const bytesMax = limits.answerBytesMax
  return {
    reportsCost: true,
    picturesPerCall: ({ model }) => model.row.image?.images_per_call_max ?? 1,
    generate: (call) => {
      const isEdit = call.request.sources.length > 0
      const path = isEdit ? '/images/imageToImage' : '/images/generations'
      const request = requestTo(path, wireRequest(call))
      return receive({ dispatch, request, bytesMax }, call.turn, (head) => {
        if (head.status !== 200) return failureReader(head, complaintOf, kindOf, texts)
        const reader = base64Reader('b64_json')
        return { push: reader.push, finish: () => readAnswer(reader.finish(), call.count) }
      })
    },
  }
}

/** How far an edit may go from its input picture, from 0 to 1; the API has no default. */
const strengthStandard = 0.5

function wireRequest(call: ImageCall): object {
  const { request, plan, target, count } = call
  // The schema of `image_config` has checked the options.
  const { strength = strengthStandard, ...options } = (plan.options ?? {}) as Options
  const [source] = request.sources
  const isVector = plan.targetFormat === 'svg'
  return {
    model: target.upstreamModel,
    prompt: request.prompt,
    ...prune({
      n: count === 1 ? undefined : count,
      size: sizeIn(plan, isVector),
      random_seed: seedOf(call).seed,
      image_format: isVector ? undefined : plan.vendorFormat,
    }),
    ...options,
    response_format: 'b64_json',
    ...(source === undefined ? {} : { image_url: pictureUrl(source), strength }),
  }
}

/** A vector picture has a ratio in place of pixels; without a ratio the model decides. */
function sizeIn({ aspectRatio, vendorPixels }: ImagePlan, isVector: boolean): string | undefined {
  if (aspectRatio === undefined || vendorPixels === undefined) return undefined
  return isVector ? aspectRatio : pixelsText(vendorPixels)
}

/** Credits of a dollar (docs/vendors.md#what-vendors-charge). */
const creditsPerUsd = 1000n

function readAnswer({ json, texts: base64 }: SplicedJson, count: number): ImageResult {
  // The answer is not validated: `receive` reports a wrong shape as `malformed`.
  const { credits, data = [] } = (json ?? {}) as WireAnswer
  const usage = { ...noUsage, ...costOf(credits, creditsPerUsd) }
  const pictures = data.slice(0, count).flatMap((item): Picture[] => {
    const picture = readMade(base64[Number(item.b64_json?.slice(1))] ?? [])
    if (picture === undefined) return []
    const revisedPrompt = item.revised_prompt
    return [typeof revisedPrompt === 'string' ? { ...picture, revisedPrompt } : picture]
  })
  if (pictures.length > 0 && pictures.length === Math.min(data.length, count))
    return { pictures, usage }
  const failure = new ProviderFailure('malformed', 'The answer has no picture, or a broken one.')
  throw usage.reportedNanoUsd === undefined && data.length === 0
    ? failure
    : afterSpending(failure, { ...usage, images: data.length })
}

/** Failure kinds of the words of Recraft, which documents no error codes. */
const kinds: readonly (readonly [FailureKind, RegExp])[] = [
  ['content_policy', /moderat|nsfw|prohibited|inappropriate|safety|content.policy/i],
  ['out_of_credit', /not.enough.(?:credits|units|balance)|insufficient/i],
]

function kindOf(status: number, { code = '', message = '' }: Complaint): FailureKind {
  const refusal = status === 400 || status === 403 || status === 422
  const found = kinds.find(([, words]) => words.test(`${code} ${message}`))?.[0]
  return (refusal ? found : undefined) ?? kindOfStatus(status)
}
