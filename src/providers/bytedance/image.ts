import { ProviderFailure, type FailureKind } from '../../core/failure.ts'
import { prune } from '../../core/prune.ts'
import type { ImageAdapter, ImageCall, ImageResult, Picture } from '../../core/image/image.ts'
import { readPicture } from '../../core/image/picture.ts'
import { pixelsText } from '../../core/image/size.ts'
import { complaintOf } from '../openai-compatible/complaint.ts'
import { countedFailure } from '../transport/answer-failure.ts'
import { jsonRequests } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { failureOf, type Complaint } from '../transport/complaint.ts'
import { failureReader, kindOfStatus } from '../transport/http-failure.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { receive } from '../transport/upstream.ts'
import { base64Reader, type SplicedJson } from '../wire/base64-reader.ts'
import { membersOf } from '../../core/any-json.ts'
import { countIn, tokensMaxOf, usageOf, type TokensMax } from '../wire/token-count.ts'
import { pictureUrl, printJson } from '../wire/long-text.ts'

type WireItem = { b64_json?: string; error?: { code?: string; message?: string } }
type WireAnswer = {
  data?: WireItem[]
  error?: { code?: string; message?: string } | null
  usage?: unknown
}

/** Images through Ark's single endpoint, edits included (docs/vendors.md#modelark-images). */
export function imageAdapter(endpoint: Endpoint): ImageAdapter {
  const { dispatch, texts, limits } = endpoint
  const requestTo = jsonRequests(endpoint, { print: printJson })
  const bytesMax = limits.answerBytesMax
  return {
    // The API has no field for the number of images.
    picturesPerCall: () => 1,
    generate: (call) => {
      const request = requestTo('/images/generations', wireRequest(call))
      return receive({ dispatch, request, bytesMax }, call.turn, (head) => {
        if (head.status !== 200) return failureReader(head, complaintOf, kindOf, texts)
        const reader = base64Reader('b64_json')
        return {
          push: reader.push,
          finish: () => readAnswer(reader.finish(), texts, tokensMaxOf(call.target)),
        }
      })
    },
  }
}

function wireRequest({ request, plan, target }: ImageCall): object {
  const { vendorPixels: pixels, vendorFormat, background } = plan
  const pictures = request.sources.map(pictureUrl)
  return {
    model: target.upstreamModel,
    prompt: request.prompt,
    ...(pictures.length === 0 ? {} : { image: pictures.length === 1 ? pictures[0] : pictures }),
    ...prune({ size: pixels && pixelsText(pixels), output_format: vendorFormat, background }),
    response_format: 'b64_json',
    // The vendor's default is true.
    watermark: false,
  }
}

function readAnswer(
  { json, texts: base64 }: SplicedJson,
  texts: VendorTexts,
  most: TokensMax,
): ImageResult {
  // The answer is not validated: a wrong shape is reported as `malformed`.
  const answer = (json ?? {}) as WireAnswer
  const { output_tokens: output, generated_images: made } = membersOf(answer.usage)
  const counted = output === undefined ? undefined : usageOf({ input: [0], output: [output] }, most)
  try {
    // A call asks for one image.
    const pictures = picturesIn(answer, base64, texts).slice(0, 1)
    return counted === undefined ? { pictures } : { pictures, usage: counted }
  } catch (error) {
    // Counts at most one image, since a call makes no more, whatever number the vendor reports.
    throw countedFailure(error, counted && { ...counted, images: countIn(made) ? 1 : 0 })
  }
}

/** A 200 may hold an error, for the whole answer or for one picture. */
function picturesIn(
  { data = [], error }: WireAnswer,
  base64: SplicedJson['texts'],
  texts: VendorTexts,
): Picture[] {
  const failed = error ?? data.find((item) => item.error !== undefined)?.error
  if (failed !== undefined && failed !== null) {
    const complaint = complaintOf({ error: failed })
    throw failureOf(kindOf(500, complaint), complaint, { status: 200, texts, inBand: true })
  }
  const pictures = data.flatMap(({ b64_json: mark }): Picture[] => {
    const picture = readPicture(base64[Number(mark?.slice(1))] ?? [])
    return picture === undefined ? [] : [picture]
  })
  if (pictures.length === 0) throw new ProviderFailure('malformed', 'The provider made no picture.')
  return pictures
}

function kindOf(status: number, complaint: Complaint): FailureKind {
  return failureKind(complaint) ?? kindOfStatus(status)
}

const kinds: readonly (readonly [FailureKind, RegExp])[] = [
  ['content_policy', /Sensitive|RiskDetection|ContentSecurity/],
  ['out_of_credit', /^QuotaExceeded|Overdue/],
  ['rate_limited', /^(?:RateLimitExceeded|ModelAccount|RequestBurstTooFast)/],
  ['overloaded', /^(?:ServerOverloaded|ModelLoadingError|InternalService|ServiceUnavailable)/],
]

/** Failure kind of an error code (docs/vendors.md#modelark-errors). */
export function failureKind({ code = '' }: Complaint): FailureKind | undefined {
  return kinds.find(([, pattern]) => pattern.test(code))?.[0]
}
