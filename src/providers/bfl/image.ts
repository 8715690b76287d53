import { itemsOf, jsonObject, membersOf, textIn, type Members } from '../../core/any-json.ts'
import { ProviderFailure } from '../../core/failure.ts'
import {
  seedOf,
  type DescribedImages,
  type ImageAdapter,
  type ImageCall,
  type ImageSource,
} from '../../core/image/image.ts'
import { prune } from '../../core/prune.ts'
import type { Complaint } from '../transport/complaint.ts'
import { jsonRequests } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { failureReader, kindOfStatus } from '../transport/http-failure.ts'
import { parseJson } from '../transport/upstream.ts'
import {
  runTask,
  type BegunTask,
  type TaskProtocol,
  type TaskResult,
} from '../transport/vendor-task.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { pictureText, printJson, type LongText } from '../wire/long-text.ts'
import { costOf } from '../wire/reported-cost.ts'

/** Every picture is a task (docs/vendors.md#black-forest-labs-images). */
export function imageAdapter(endpoint: Endpoint): ImageAdapter {
  const requestTo = jsonRequests(endpoint, { print: printJson })
  const { texts } = endpoint
  const protocol: Omit<TaskProtocol, 'create'> = {
    begunIn,
    statePath: (id) => `/get_result?id=${id}`,
    domain: 'bfl.ai',
    resultIn: (bytes) => resultIn(bytes, texts),
    failureReader: (head) => failureReader(head, complaintOf, kindOfStatus, texts),
    // Half a second, as the vendor's examples.
    pollsPerInterval: 6,
    waitsForSlot: true,
  }
  return {
    unlisted,
    reportsCost: true,
    picturesPerCall: () => 1,
    generate: (call) => {
      const create = requestTo(pathOf(call.target.upstreamModel), wireRequest(call))
      return runTask(endpoint, call, { ...protocol, create })
    },
  }
}

/** Models without a row have the fields of FLUX.2. */
const unlisted: DescribedImages = {
  capabilities: { seed: true },
  image: {
    size: { kind: 'free' },
    output_formats: ['jpeg', 'png'],
    options: ['mask', 'safety_tolerance', 'prompt_upsampling', 'steps', 'guidance'],
    images_per_call_max: 1,
    reference_images_min: 0,
    reference_images_max: 8,
  },
}

/** The path of a model. A model without a row has the name that the caller gave. */
function pathOf(model: string): string {
  if (/(?:^|\/)\.*(?:\/|$)/.test(model))
    throw new ProviderFailure('not_found', 'The provider has no such model.')
  return `/${model.split('/').map(encodeURIComponent).join('/')}`
}

function wireRequest(call: ImageCall): object {
  const { request, plan, target } = call
  const { vendorPixels, aspectRatio, vendorFormat, options } = plan
  return {
    prompt: request.prompt,
    ...inputsOf(request.sources, target.upstreamModel),
    ...(request.mask && { mask: pictureText(request.mask) }),
    ...(aspectRatio === undefined ? vendorPixels : { aspect_ratio: aspectRatio }),
    ...prune({ output_format: vendorFormat }),
    ...options,
    ...seedOf(call),
  }
}

/** The input pictures, whose field depends on the model. */
function inputsOf(sources: readonly ImageSource[], model: string): Record<string, LongText> {
  const first = oldInputs.find(([pattern]) => pattern.test(model))?.[1] ?? 'input_image'
  const named = sources.map((source, index) => {
    const name = index === 0 ? first : `${first}_${index + 1}`
    return [name, pictureText(source)] as const
  })
  return Object.fromEntries(named)
}

const oldInputs: readonly (readonly [RegExp, string])[] = [
  [/^flux-pro-1\.1/, 'image_prompt'],
  [/-fill/, 'image'],
]

function begunIn(bytes: Buffer): BegunTask {
  const { id, polling_url: address, cost } = membersOf(parseJson(bytes))
  if (typeof id !== 'string') throw new ProviderFailure('malformed', 'The provider began no task.')
  const costNanoUsd = costOf(cost, creditsPerUsd)?.reportedNanoUsd
  return { id, ...prune({ address: textIn(address), costNanoUsd }) }
}

const creditsPerUsd = 100n

function resultIn(bytes: Buffer, texts: VendorTexts): TaskResult | undefined {
  const { status, result, details } = membersOf(parseJson(bytes))
  switch (status) {
    case 'Pending':
      return undefined
    case 'Ready': {
      const address = textIn(membersOf(result)['sample'])
      if (address !== undefined) return { addresses: [address] }
      throw new ProviderFailure('malformed', 'The provider made no picture.')
    }
    case 'Request Moderated':
      throw moderated('the request before it made a picture', details, texts)
    case 'Content Moderated':
      throw moderated('the picture that it made', details, texts)
    case 'Error':
    case 'Failed': {
      const text = 'The provider failed to make the picture.'
      throw new ProviderFailure('overloaded', text, { status: 500 })
    }
    case 'Task not found':
      throw new ProviderFailure('not_found', 'The task is unknown.')
    default:
      throw new ProviderFailure('malformed', 'The task has an unknown state.')
  }
}

const reasonsMax = 5

/** Neither refusal is charged. */
function moderated(what: string, details: unknown, texts: VendorTexts): ProviderFailure {
  const reasons = itemsOf(membersOf(details)['Moderation Reasons'])
    .slice(0, reasonsMax)
    .flatMap((reason) => texts.words(reason) || [])
  const why = reasons.length === 0 ? '' : `: ${reasons.join(', ')}`
  return new ProviderFailure('content_policy', `The provider refused ${what}${why}.`)
}

/** The errors of FastAPI: `detail` is a text, or a list with the path and the fault of each field. */
function complaintOf(body: unknown): Complaint {
  const { detail, message, error } = membersOf(body)
  const { loc, msg } = typeof body === 'string' ? faultIn(body) : membersOf(itemsOf(detail)[0])
  const path = itemsOf(loc).filter((part) => part !== 'body')
  const param = path.length === 0 ? undefined : path.join('.')
  const fault = textIn(msg)
  const words = fault && param ? `${param}: ${fault}` : fault
  const said = textIn(detail) ?? words ?? textIn(message) ?? textIn(error)
  return prune({ message: said, param })
}

/**
 * The fault in an answer whose end was cut: the vendor repeats the request after it, with its pictures. No members if
 * there is none.
 */
function faultIn(text: string): Members {
  const [, loc, msg] = /"loc": ?(\[[^\]]*\]), ?"msg": ?("(?:[^"\\]|\\.)*")/.exec(text) ?? []
  return msg === undefined ? {} : membersOf(jsonObject(`{"loc":${loc},"msg":${msg}}`))
}
