import { isMembers, membersOf, textIn } from '../../core/any-json.ts'
import { assertTaken } from '../../core/error.ts'
import { afterSpending, ProviderFailure, type FailureKind } from '../../core/failure.ts'
import { seedOf, type ImageAdapter, type ImageCall } from '../../core/image/image.ts'
import { pixelsText } from '../../core/image/size.ts'
import { noUsage } from '../../core/money/price.ts'
import { prune } from '../../core/prune.ts'
import { failureOf, type Complaint } from '../transport/complaint.ts'
import { jsonRequests, type UpstreamRequest } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { failureReader, kindOfStatus } from '../transport/http-failure.ts'
import { parseJson } from '../transport/upstream.ts'
import { runTask, type BegunTask, type TaskResult } from '../transport/vendor-task.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { formBytes, printForm } from '../wire/form.ts'
import { costOf } from '../wire/reported-cost.ts'

type WireItem = { url?: string | null; prompt?: string; is_image_safe?: boolean }
type WireGeneration = {
  generation_id?: string
  status?: string
  data?: WireItem[]
  failure_reason?: unknown
  usage_cost_usd_micros?: unknown
}

/** The endpoint that also takes JSON (docs/vendors.md#ideogram-request). */
const takesJson = 'generate/ideogram-4-5'
/** Sides of the pictures that are made from input images. */
const gridOfEdits = 32

/**
 * Images of `/v2/image/<action>/<model>`, each call as a task: only the state of a task has the charge, and a task that
 * outlives its connection or process is found by its id.
 */
export function imageAdapter(endpoint: Endpoint): ImageAdapter {
  const { texts } = endpoint
  return {
    reportsCost: true,
    picturesPerCall: ({ model }) => model.row.image?.images_per_call_max ?? 1,
    generate: async (call) => {
      const { memory } = call.turn
      const copied = formBytes(call.request.sources)
      assertTaken(copied === 0 ? undefined : memory.takeMore(copied))
      let made: readonly WireItem[] = []
      try {
        const { pictures, usage } = await runTask(endpoint, call, {
          create: requestFor(call, endpoint),
          begunIn,
          statePath: (id) => `/v2/generations/${id}`,
          resultIn: (bytes) => {
            const state = parseJson(bytes) as WireGeneration
            made = state.data ?? []
            return resultIn(state, texts)
          },
          failureReader: (head) => failureReader(head, complaintOf, kindOf, texts),
          pollsPerInterval: 6,
          waitsForSlot: true,
        })
        const revised = pictures.map((picture, index) => {
          const { prompt = '' } = made[index] ?? {}
          return prompt === call.request.prompt ? picture : { ...picture, revisedPrompt: prompt }
        })
        return { pictures: revised, ...prune({ usage }) }
      } finally {
        memory.give(copied)
      }
    },
  }
}

function begunIn(bytes: Buffer): BegunTask {
  const id = textIn((parseJson(bytes) as WireGeneration).generation_id)
  if (id !== undefined) return { id }
  throw new ProviderFailure('malformed', 'The answer has no id of a generation.')
}

function requestFor(call: ImageCall, endpoint: Endpoint): UpstreamRequest {
  const { target, request } = call
  const { sources } = request
  const fields = fieldsOf(call)
  const sent = jsonRequests(endpoint)(`/v2/image/${target.upstreamModel}`, fields)
  if (sources.length === 0 && target.upstreamModel === takesJson) return sent
  const isPrecise = target.upstreamModel.startsWith('precise-edit/')
  const fieldOf = (index: number) =>
    isPrecise ? (index === 0 ? 'image' : 'reference_images') : 'images'
  const { contentType, body } = printForm(fields, sources, fieldOf)
  return { ...sent, headers: { ...sent.headers, 'content-type': contentType }, body }
}

function fieldsOf(call: ImageCall): object {
  const { request, plan, count } = call
  const { quality, background, options = {} } = plan
  return {
    prompt: request.prompt,
    num_images: count,
    ...prune({ size: sizeOf(call), quality, background: backgroundFor(request, background) }),
    ...options,
    ...seedOf(call),
    async: true,
  }
}

/** The size; the vendor chooses a size of its largest class when the request has no ratio. */
function sizeOf({ request, plan, target }: ImageCall): string | undefined {
  const { vendorPixels: pixels, sizeClass, aspectRatio } = plan
  const standard = target.model.row.image?.size.default_size
  const isDefault = sizeClass !== undefined && sizeClass === standard && aspectRatio === undefined
  if (pixels === undefined || isDefault) return undefined
  const { width, height } = pixels
  const isOnGrid = width % gridOfEdits === 0 && height % gridOfEdits === 0
  if (request.sources.length === 0 || isOnGrid) return pixelsText(pixels)
  // The same ratio in the next class, whose sides are on the grid.
  return pixelsText({ width: 2 * width, height: 2 * height })
}

/** Only pictures without input images have a background setting, which has no `auto`. */
function backgroundFor(
  { sources }: ImageCall['request'],
  background: ImageCall['plan']['background'],
): string | undefined {
  if (sources.length === 0) return background === 'auto' ? undefined : background
  if (background !== 'transparent') return undefined
  const text =
    'Ideogram makes a transparent background only without input images. Leave out background or the images.'
  throw new ProviderFailure('rejected', text, {
    param: 'background',
    code: 'unsupported_parameter',
  })
}

/** The pictures of a generation; undefined until it has ended. Withheld pictures are charged too. */
function resultIn(state: WireGeneration, texts: VendorTexts): TaskResult | undefined {
  const { status, data = [], failure_reason: reason } = state
  if (status === 'pending') return undefined
  const cost = costOf(state.usage_cost_usd_micros, 1_000_000n)
  if (status === 'failed') {
    const code = textIn(reason) ?? ''
    const kind = /content|safety|policy/i.test(code) ? 'content_policy' : 'overloaded'
    const message = `The generation failed${code && `: ${code}`}.`
    throw failureOf(kind, { message, code }, { status: 200, texts, inBand: true })
  }
  if (status !== 'completed')
    throw new ProviderFailure('malformed', 'The generation has an unknown status.')
  const addresses = data.flatMap(({ url, is_image_safe: isSafe }) =>
    isSafe !== false && url ? [url] : [],
  )
  const withheld = data.length - addresses.length
  if (withheld === 0) return { addresses, ...prune({ costNanoUsd: cost?.reportedNanoUsd }) }
  const text =
    `The provider withheld ${withheld} of ${data.length} pictures as unsafe, and charges for all of them. ` +
    'Change the prompt.'
  const failure = new ProviderFailure('content_policy', text)
  throw afterSpending(failure, { ...noUsage, ...cost, images: data.length })
}

function complaintOf(body: unknown): Complaint {
  const { error, message, reject_reason: reason } = membersOf(body)
  const text = isMembers(error) ? error['message'] : (error ?? message)
  return prune({ message: textIn(text), code: textIn(reason) })
}

/** Every reason but the limit of concurrency is about the balance or the plan (docs/vendors.md#ideogram-errors). */
function kindOf(status: number, { code }: Complaint): FailureKind {
  if (code === 'inflight_limit') return 'rate_limited'
  if (code !== undefined) return 'out_of_credit'
  return status === 422 ? 'content_policy' : kindOfStatus(status)
}
