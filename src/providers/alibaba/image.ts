import { ProviderFailure, type FailureKind } from '../../core/failure.ts'
import { prune } from '../../core/prune.ts'
import { seedOf, type ImageAdapter, type ImageCall } from '../../core/image/image.ts'
import { noUsage } from '../../core/money/price.ts'
import { countedFailure } from '../transport/answer-failure.ts'
import { jsonRequests } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { fetchEach } from '../transport/fetch-picture.ts'
import { failureOf, type Complaint } from '../transport/complaint.ts'
import { failureReader, kindOfStatus } from '../transport/http-failure.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { parseJson, receive, wholeReader } from '../transport/upstream.ts'
import { runTask, type TaskResult } from '../transport/vendor-task.ts'
import { membersOf, textIn } from '../../core/any-json.ts'
import { pictureUrl, printJson } from '../wire/long-text.ts'
import { countIn } from '../wire/token-count.ts'

type WireAnswer = {
  output?: {
    choices?: { message?: { content?: { image?: string }[] } }[]
    task_id?: string
    task_status?: string
    results?: { url?: string; code?: string; message?: string }[]
    code?: string
    message?: string
  }
  usage?: unknown
  code?: string
  message?: string
}

const path = '/api/v1/services/aigc/multimodal-generation/generation'
const taskPath = '/api/v1/services/aigc/text2image/image-synthesis'

/** Images through DashScope's synchronous call, and those of jobs as tasks (docs/vendors.md#model-studio-images). */
export function imageAdapter(endpoint: Endpoint): ImageAdapter {
  const { dispatch, texts, limits, fetchPicture } = endpoint
  const requestTo = jsonRequests(endpoint, { print: printJson })
  const bytesMax = limits.jsonBytesMax
  const begin = jsonRequests(endpoint, { headers: { 'x-dashscope-async': 'enable' } })
  const viaTask = (call: ImageCall) =>
    runTask(endpoint, call, {
      create: begin(taskPath, wireTask(call)),
      begunIn: (bytes) => ({ id: taskIdIn(bytes, texts) }),
      statePath: (id) => `/api/v1/tasks/${id}`,
      resultIn: (bytes) => taskResultIn(bytes, { texts, count: call.count }),
      cancel: (id) => ({ method: 'POST', path: `/api/v1/tasks/${id}/cancel` }),
      failureReader: (head) => failureReader(head, complaintOf, kindOf, texts),
    })
  return {
    picturesPerCall: ({ model }) => model.row.image?.images_per_call_max ?? 1,
    generate: async (call) => {
      const { turn, count } = call
      if (turn.tasks !== undefined && call.target.model.row.makes_tasks === true)
        return viaTask(call)
      const request = requestTo(path, wireRequest(call))
      const addresses = await receive({ dispatch, request, bytesMax }, turn, (head) =>
        head.status === 200
          ? wholeReader((bytes) => readAnswer(bytes, { texts, count }))
          : failureReader(head, complaintOf, kindOf, texts),
      )
      return { pictures: await fetchEach(fetchPicture, addresses, turn) }
    },
  }
}

function wireRequest(call: ImageCall): object {
  const { request, target } = call
  const pictures = request.sources.map((source) => ({ image: pictureUrl(source) }))
  return {
    model: target.upstreamModel,
    // Images come before the text; the output takes the aspect ratio of the last image.
    input: { messages: [{ role: 'user', content: [...pictures, { text: request.prompt }] }] },
    parameters: wireParameters(call),
  }
}

function wireTask(call: ImageCall): object {
  const { request, target } = call
  const input = { prompt: request.prompt }
  return { model: target.upstreamModel, input, parameters: wireParameters(call) }
}

function wireParameters(call: ImageCall): object {
  const { plan, count } = call
  const { vendorPixels: pixels } = plan
  return {
    n: count,
    watermark: false,
    ...(pixels === undefined ? {} : { size: `${pixels.width}*${pixels.height}` }),
    ...seedOf(call),
  }
}

function taskIdIn(bytes: Buffer, texts: VendorTexts): string {
  const body = parseJson(bytes) as WireAnswer
  if (body.output?.task_id !== undefined) return body.output.task_id
  throw complaintIn(body, texts)
}

/** The pictures; undefined until the task has ended. */
function taskResultIn(
  bytes: Buffer,
  { texts, count }: { texts: VendorTexts; count: number },
): TaskResult | undefined {
  const { output = {} } = parseJson(bytes) as WireAnswer
  const { task_status: status, results = [] } = output
  if (status === 'PENDING' || status === 'RUNNING' || status === 'SUSPENDED') return undefined
  const addresses = results.flatMap(({ url }) => url ?? [])
  if (status === 'SUCCEEDED' && addresses.length >= count)
    return { addresses: addresses.slice(0, count) }
  // A batch may have failed in part; the pictures that it made are charged.
  const failed = results.find(({ code }) => code !== undefined) ?? output
  if (status === 'UNKNOWN') throw new ProviderFailure('not_found', 'The task is unknown.')
  throw countedFailure(complaintIn(failed, texts), { ...noUsage, images: addresses.length })
}

/** An error may have status 200: then the answer has `code` and no `output`. */
function readAnswer(
  bytes: Buffer,
  { texts, count }: { texts: VendorTexts; count: number },
): string[] {
  // The answer is not validated: `receive` reports a wrong shape as `malformed`.
  const body = parseJson(bytes) as WireAnswer
  const made = Math.min(countIn(membersOf(body.usage)['image_count']) ?? 0, count)
  try {
    return addressesIn(body, texts, Math.max(made, 1)).slice(0, count)
  } catch (error) {
    throw countedFailure(error, { ...noUsage, images: made })
  }
}

function addressesIn(body: WireAnswer, texts: VendorTexts, made: number): string[] {
  if (body.output === undefined && body.code !== undefined) throw complaintIn(body, texts)
  const addresses = (body.output?.choices ?? [])
    .flatMap(({ message }) => message?.content ?? [])
    .flatMap(({ image }) => (image === undefined ? [] : [image]))
  if (addresses.length >= made) return addresses
  const text = `The provider delivered ${addresses.length} of ${made} pictures.`
  throw new ProviderFailure('malformed', text)
}

function complaintIn(body: unknown, texts: VendorTexts): ProviderFailure {
  const complaint = complaintOf(body)
  return failureOf(kindOf(500, complaint), complaint, { status: 200, texts, inBand: true })
}

function complaintOf(body: unknown): Complaint {
  const { code, message } = membersOf(body)
  return prune({ code: textIn(code), message: textIn(message) })
}

function kindOf(status: number, complaint: Complaint): FailureKind {
  return failureKind(complaint) ?? kindOfStatus(status)
}

const kinds: Readonly<Record<string, FailureKind>> = {
  InvalidParameter: 'rejected',
  DataInspectionFailed: 'content_policy',
  IPInfringementSuspect: 'content_policy',
  Arrearage: 'out_of_credit',
  InvalidApiKey: 'credentials',
  AccessDenied: 'credentials',
  'AllocationQuota.FreeTierOnly': 'out_of_credit',
  ModelNotFound: 'not_found',
  Throttling: 'rate_limited',
  'Throttling.RateQuota': 'rate_limited',
  'Throttling.AllocationQuota': 'out_of_credit',
}

/** Failure kind of an error code in both protocols (docs/vendors.md#model-studio-errors). */
export function failureKind({ code = '' }: Complaint): FailureKind | undefined {
  return Object.hasOwn(kinds, code) ? kinds[code] : undefined
}
