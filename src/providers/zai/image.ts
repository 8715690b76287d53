import { ProviderFailure, type FailureKind } from '../../core/failure.ts'
import type { ImageAdapter, ImageCall } from '../../core/image/image.ts'
import { pixelsText } from '../../core/image/size.ts'
import { complaintOf } from '../openai-compatible/complaint.ts'
import { jsonRequests } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { fetchEach } from '../transport/fetch-picture.ts'
import { failureOf, type Complaint } from '../transport/complaint.ts'
import { failureReader, kindOfStatus } from '../transport/http-failure.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { parseJson, receive, wholeReader } from '../transport/upstream.ts'

type WireAnswer = {
  data?: { url?: string }[]
  content_filter?: { role?: string; level?: number }[]
  error?: unknown
}

/** Images of `/images/generations`, one per call, as a URL (docs/vendors.md#zai-images). */
export function imageAdapter(endpoint: Endpoint): ImageAdapter {
  const { dispatch, texts, limits, fetchPicture } = endpoint
  const requestTo = jsonRequests(endpoint)
  const bytesMax = limits.jsonBytesMax
  return {
    picturesPerCall: () => 1,
    generate: async (call) => {
      const request = requestTo('/images/generations', wireRequest(call))
      const address = await receive({ dispatch, request, bytesMax }, call.turn, (head) =>
        head.status === 200
          ? wholeReader((bytes) => readAnswer(bytes, texts))
          : failureReader(head, complaintOf, kindOf, texts),
      )
      return { pictures: await fetchEach(fetchPicture, [address], call.turn) }
    },
  }
}

function wireRequest({ request, plan, target }: ImageCall): object {
  const { vendorPixels: pixels, quality } = plan
  return {
    model: target.upstreamModel,
    prompt: request.prompt,
    ...(pixels === undefined ? {} : { size: pixelsText(pixels) }),
    ...(quality === undefined ? {} : { quality }),
  }
}

function readAnswer(bytes: Buffer, texts: VendorTexts): string {
  // The answer is not validated: `receive` reports a wrong shape as `malformed`.
  const body = parseJson(bytes) as WireAnswer
  const address = body.data?.[0]?.url
  if (address !== undefined && address !== '') return address
  if (body.error !== undefined) {
    const complaint = complaintOf(body)
    throw failureOf(kindOf(500, complaint), complaint, { status: 200, texts, inBand: true })
  }
  if (body.content_filter !== undefined) {
    throw new ProviderFailure('content_policy', 'The provider refused the request as unsafe.')
  }
  throw new ProviderFailure('malformed', 'The provider made no picture.')
}

function kindOf(status: number, complaint: Complaint): FailureKind {
  return failureKind(complaint) ?? kindOfStatus(status)
}

const kinds: readonly (readonly [FailureKind, readonly number[]])[] = [
  ['credentials', [1000, 1001, 1002, 1003, 1004, 1110, 1111, 1112, 1121, 1220]],
  ['out_of_credit', [1113, 1304, 1308, 1309, 1310, 1311, 1313]],
  ['content_policy', [1301]],
  ['not_found', [1211, 1212, 1221, 1222]],
  ['context_length', [1261]],
  ['rejected', [1210, 1213, 1214, 1215, 1231]],
  ['rate_limited', [1302, 1303, 1305, 1312]],
  ['overloaded', [1120, 1230, 1234]],
]

/** The failure kind by code, since an empty balance has status 429 too (docs/vendors.md#zai-errors). */
export function failureKind({ code }: Complaint): FailureKind | undefined {
  return kinds.find(([, codes]) => codes.includes(Number(code)))?.[0]
}
