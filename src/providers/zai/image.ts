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
import { runTask, type TaskResult } from '../transport/vendor-task.ts'

type WireAnswer = {
  id?: string
  task_status?: string
  image_result?: { url?: string }[]
  data?: { url?: string }[]
  content_filter?: { role?: string; level?: number }[]
  error?: unknown
}

/** Images of `/images/generations`, one per call, as a URL; those of jobs as tasks (docs/vendors.md#zai-images). */
export function imageAdapter(endpoint: Endpoint): ImageAdapter {
  const { dispatch, texts, limits, fetchPicture } = endpoint
  const requestTo = jsonRequests(endpoint)
  const bytesMax = limits.jsonBytesMax
  const viaTask = (call: ImageCall) =>
    runTask(endpoint, call, {
      create: requestTo('/async/images/generations', wireRequest(call)),
      begunIn: (bytes) => ({ id: taskIdIn(bytes, texts) }),
      statePath: (id) => `/async-result/${id}`,
      resultIn: (bytes) => taskResultIn(bytes, texts),
      failureReader: (head) => failureReader(head, complaintOf, kindOf, texts),
    })
  return {
    picturesPerCall: () => 1,
    generate: async (call) => {
      if (call.turn.tasks !== undefined && call.target.model.row.makes_tasks === true)
        return viaTask(call)
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
  return addressIn(body.data, body, texts)
}

function taskIdIn(bytes: Buffer, texts: VendorTexts): string {
  const body = parseJson(bytes) as WireAnswer
  return body.id ?? addressIn(undefined, body, texts)
}

/** The picture; undefined until the task has ended. */
function taskResultIn(bytes: Buffer, texts: VendorTexts): TaskResult | undefined {
  const body = parseJson(bytes) as WireAnswer
  const { task_status: status, image_result: result } = body
  if (status === 'PROCESSING') return undefined
  if (status === 'FAIL' && body.error === undefined)
    throw new ProviderFailure('overloaded', 'The provider failed to make the picture.', {
      status: 500,
    })
  return { addresses: [addressIn(result, body, texts)] }
}

/** The address of the first picture. Throws the ProviderFailure that the answer reports. */
function addressIn(data: WireAnswer['data'], body: WireAnswer, texts: VendorTexts): string {
  const address = data?.[0]?.url
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
