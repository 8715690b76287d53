import { ProviderFailure, type FailureKind } from '../../core/failure.ts'
import { seedOf, type ImageAdapter, type ImageCall } from '../../core/image/image.ts'
import { jsonRequests } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import type { Complaint } from '../transport/complaint.ts'
import { failureReader, kindOfStatus } from '../transport/http-failure.ts'
import { parseJson, receive, wholeReader } from '../transport/upstream.ts'
import { pictureUrl, printJson } from '../wire/long-text.ts'
import { failureKind } from './failure.ts'

type WireAnswer = {
  output?: { choices?: { message?: { content?: { image?: string }[] } }[] }
  code?: string
  message?: string
}

const path = '/api/v1/services/aigc/multimodal-generation/generation'

/** Images over DashScope's synchronous call, as URLs (docs/vendors.md#model-studio-images). */
export function imageAdapter(endpoint: Endpoint): ImageAdapter {
  const { dispatch, redact, limits, fetchPicture } = endpoint
  const requestTo = jsonRequests(endpoint, { print: printJson })
  const bytesMax = limits.answerBytesMax
  return {
    picturesPerCall: ({ model }) => model.row.image?.images_per_call_max ?? 1,
    generate: async (call) => {
      const { signal } = call
      const request = requestTo(path, wireRequest(call))
      const addresses = await receive({ dispatch, request, signal, bytesMax }, (head) => {
        if (head.status !== 200) return failureReader(head, complaintOf, kindOf, redact)
        const whole = wholeReader()
        return { push: whole.push, finish: () => readAnswer(whole.finish()) }
      })
      return { pictures: await Promise.all(addresses.map((one) => fetchPicture(one, signal))) }
    },
  }
}

function wireRequest(call: ImageCall): object {
  const { request, plan, target, count } = call
  const { vendorPixels: pixels } = plan
  const pictures = request.sources.map((source) => ({ image: pictureUrl(source) }))
  return {
    model: target.upstreamModel,
    // Images come before the text; the output takes the aspect ratio of the last one.
    input: { messages: [{ role: 'user', content: [...pictures, { text: request.prompt }] }] },
    parameters: {
      n: count,
      watermark: false,
      ...(pixels === undefined ? {} : { size: `${pixels.width}*${pixels.height}` }),
      ...seedOf(call),
    },
  }
}

/** An error may come with status 200: then there is a code and no output. */
function readAnswer(bytes: Buffer): string[] {
  // Not validated: `receive` reports a wrong shape as `malformed`.
  const body = parseJson(bytes) as WireAnswer
  if (body.output === undefined && body.code !== undefined) {
    throw new ProviderFailure(kindOf(500, body), body.message ?? body.code, { status: 200 })
  }
  const addresses = (body.output?.choices ?? [])
    .flatMap(({ message }) => message?.content ?? [])
    .flatMap(({ image }) => (image === undefined ? [] : [image]))
  if (addresses.length > 0) return addresses
  throw new ProviderFailure('malformed', 'The provider made no picture.')
}

function complaintOf(body: unknown): Complaint {
  // Every member is optional; a message of another type ends as `malformed`.
  const { code, message } = (body ?? {}) as WireAnswer
  return {
    ...(code === undefined ? {} : { code }),
    ...(message === undefined ? {} : { message }),
  }
}

function kindOf(status: number, complaint: Complaint): FailureKind {
  return failureKind(complaint) ?? kindOfStatus(status)
}
