import { itemsOf, membersOf, textIn, type Members } from '../../core/any-json.ts'
import { ProviderFailure, type FailureKind } from '../../core/failure.ts'
import {
  seedOf,
  type ImageAdapter,
  type ImageCall,
  type ImageSource,
} from '../../core/image/image.ts'
import type { ImageAbilities, Target } from '../../core/model.ts'
import { multiplierUnit, nanoUsd, noUsage, type Usage } from '../../core/money/price.ts'
import { prune } from '../../core/prune.ts'
import { failureOf, type Complaint } from '../transport/complaint.ts'
import { jsonRequests } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { failureReader, kindOfStatus } from '../transport/http-failure.ts'
import { parseJson, type UpstreamHead } from '../transport/upstream.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { runTask, type BegunTask, type TaskProtocol } from '../transport/vendor-task.ts'
import { pictureUrl, printJson } from '../wire/long-text.ts'

/** Endpoints outside the catalog: what they do not take, they ignore. */
const unlisted: ImageAbilities = {
  size: { kind: 'free' },
  output_formats: ['jpeg', 'png', 'svg'],
  options: ['input'],
  images_per_call_max: 1,
  reference_images_min: 0,
  reference_images_max: 10,
}

/** The pictures stay a day, so that a job finds them after a restart of the gateway. */
const lifecycle = { expiration_duration_seconds: 86_400 }
const headers = { 'x-fal-object-lifecycle-preference': JSON.stringify(lifecycle) }

/** Pictures of any endpoint, through the queue of fal (docs/vendors.md#fal). */
export function imageAdapter(endpoint: Endpoint): ImageAdapter {
  return {
    unlisted: { capabilities: { seed: true }, image: unlisted },
    reportsCost: true,
    picturesPerCall: ({ model }) => abilitiesOf(model).images_per_call_max,
    // `runTask` reports every failure of the protocol.
    generate: async (call) => runTask(endpoint, call, protocolOf(endpoint, call)),
  }
}

function abilitiesOf({ row, undescribed }: Target['model']): ImageAbilities {
  return undescribed ? unlisted : (row.image ?? unlisted)
}

function protocolOf(endpoint: Endpoint, call: ImageCall): TaskProtocol {
  const { texts } = endpoint
  const { target, request, count } = call
  const { upstreamModel: name, model } = target
  const isEdit = request.sources.length > 0
  const called = pathOf((isEdit ? model.row.edit_endpoint : undefined) ?? name)
  const app = appOf(pathOf(name))
  const pathIn = (id: string, { address = '' }: BegunTask) =>
    `${stateAddress.exec(address)?.[1] ?? app}/requests/${id}`
  const requestTo = jsonRequests(endpoint, { headers, print: printJson })
  let state: string | undefined
  return {
    create: requestTo(called, wireInput(call)),
    begunIn: taskIn,
    statePath: (id, task) => `${pathIn(id, task)}/status`,
    result: {
      path: pathIn,
      isMade: (bytes) => {
        state = textIn(membersOf(parseJson(bytes))['status'])
        if (state === 'IN_QUEUE' || state === 'IN_PROGRESS') return false
        if (state === 'COMPLETED') return true
        throw new ProviderFailure('malformed', 'The task of the provider is in an unknown state.')
      },
    },
    resultIn: (bytes, head) => {
      const charge = chargeIn(head, target)
      if (head.status !== 200) throw failureIn(bytes, head, { texts, charge })
      const addresses = addressesIn(membersOf(parseJson(bytes)), { name, count, charge })
      return { addresses, costNanoUsd: charge }
    },
    cancel: (id, task) => ({ method: 'PUT', path: `${pathIn(id, task)}/cancel` }),
    isCancelFree: () => state === 'IN_QUEUE',
    failureReader: (head) => failureReader(head, complaintOf, kindOf, texts),
    pollsPerInterval: 6,
  }
}

/** The address of a state. Only its path is used, below the base URL, so no other host gets the key. */
const stateAddress =
  /^https:\/\/queue\.fal\.run((?:\/[\w-][\w.-]{0,99}){2,8})\/requests\/[\w.-]{1,128}\/status$/

/** The address of the state is kept, since the app of some endpoints is not their first two names. */
function taskIn(bytes: Buffer): BegunTask {
  const { request_id: id, status_url: address } = membersOf(parseJson(bytes))
  if (typeof id !== 'string' || id === '')
    throw new ProviderFailure('malformed', 'The provider began no task.')
  const isOwn = typeof address === 'string' && stateAddress.test(address)
  return isOwn ? { id, address } : { id }
}

const segment = /^[\w-][\w.-]*$/
const segmentsMax = 8

/** The path of an endpoint, whose name a caller may have written. Throws a ProviderFailure. */
function pathOf(name: string): string {
  const segments = name.split('/')
  const isName = segments.length >= 2 && segments.length <= segmentsMax
  if (isName && segments.every((one) => segment.test(one) && one !== 'requests')) return `/${name}`
  throw new ProviderFailure('not_found', `fal has no endpoint of the name '${name}'.`)
}

/** The path below which the tasks of an endpoint are if fal names none: the owner and the app. */
function appOf(path: string): string {
  const length = /^\/(?:workflows|comfy)\//.test(path) ? 4 : 3
  return path.split('/').slice(0, length).join('/')
}

function wireInput({ request, plan, target, count, index }: ImageCall): object {
  const { prompt, sources } = request
  const { vendorPixels, sizeClass, aspectRatio, vendorFormat, options = {} } = plan
  const { size, images_per_call_max: most } = abilitiesOf(target.model)
  const classes = size.size_classes ?? []
  const shape =
    sizeClass === undefined
      ? { image_size: vendorPixels }
      : { aspect_ratio: aspectRatio, resolution: classes.length > 1 ? sizeClass : undefined }
  return {
    ...membersOf(options['input']),
    prompt,
    ...prune(shape),
    ...prune({
      // Endpoints for vectors make nothing else.
      output_format: vendorFormat === 'svg' ? undefined : vendorFormat,
      num_images: most > 1 ? count : undefined,
    }),
    ...seedOf({ plan, index }),
    ...references(sources, target.model),
  }
}

/** One input picture may be called `image_url` or `image_urls` by an endpoint outside the catalog. */
function references(sources: readonly ImageSource[], model: Target['model']): object {
  const [first, ...more] = sources.map(pictureUrl)
  if (first === undefined) return {}
  const one = { image_url: first }
  if (abilitiesOf(model).reference_images_max === 1) return one
  const all = { image_urls: [first, ...more] }
  return model.undescribed && more.length === 0 ? { ...one, ...all } : all
}

type Reading = { name: string; count: number; charge: number | undefined }

/** The addresses of the pictures in a result. Throws a ProviderFailure if there is none. */
function addressesIn(result: Members, { name, count, charge }: Reading): readonly string[] {
  const { images, image, has_nsfw_concepts: marks, nsfw_content_detected: others } = result
  const files = Array.isArray(images) ? images : [image]
  const addresses = files.flatMap((file) => textIn(file) ?? textIn(membersOf(file)['url']) ?? [])
  const isUnsafe = [...itemsOf(marks), ...itemsOf(others)].some((mark) => mark === true)
  if (isUnsafe) {
    // The safety checker paints such a picture black.
    const text = 'The provider withheld the picture as unsafe.'
    throw charged(new ProviderFailure('content_policy', text), charge, addresses.length)
  }
  if (addresses.length > 0) return addresses.slice(0, count)
  const made = Object.keys(result).filter((member) => /^[a-z_]{1,30}$/.test(member))
  const text = `The endpoint '${name}' of fal returned no picture, but: ${made.slice(0, 5).join(', ') || 'nothing'}.`
  const remedy = 'Choose an endpoint that makes pictures.'
  throw charged(new ProviderFailure('rejected', `${text} ${remedy}`, { param: 'model' }), charge)
}

/** The failure with its charge, which is not known if fal does not report it. */
function charged(failure: ProviderFailure, charge: number | undefined, images = 0) {
  const usage: Usage = { ...noUsage, images, ...prune({ reportedNanoUsd: charge }) }
  failure.spent = charge === undefined && images === 0 ? { usage, isOpen: true } : { usage }
  return failure
}

/** More than $1000 is an error of the vendor (docs/vendors.md#what-vendors-charge). */
const chargeMaxNanoUsd = 1000n * 10n ** 9n

/** The charge in nano-dollars: the units that the answer reports, at the price of the row. */
function chargeIn({ headers }: UpstreamHead, { model }: Target): number | undefined {
  const units = String(headers['x-fal-billable-units'])
  const { unitNanoUsd } = model.prices
  if (unitNanoUsd === undefined || !/^\d{1,6}(?:\.\d+)?$/.test(units)) return undefined
  const charge = (nanoUsd(units) * BigInt(unitNanoUsd) + multiplierUnit / 2n) / multiplierUnit
  return charge > chargeMaxNanoUsd ? undefined : Number(charge)
}

/** The failure of a task; `malformed`, after which the task is polled again, if the answer is not in fal's form. */
function failureIn(
  bytes: Buffer,
  { status, headers }: UpstreamHead,
  { texts, charge }: { texts: VendorTexts; charge: number | undefined },
): ProviderFailure {
  const complaint = complaintOf(parseJson(bytes))
  const isRetryable = headers['x-fal-retryable'] === 'true'
  const kind = isRetryable ? 'overloaded' : kindOf(status, complaint)
  if (complaint.message === undefined) return new ProviderFailure('malformed', `HTTP ${status}.`)
  const failure = failureOf(kind, complaint, { status, texts })
  // Errors of the server are never charged; a refusal is, if a processor worked on it.
  const mayCharge = charge !== undefined || kind === 'content_policy'
  return mayCharge ? charged(failure, charge) : failure
}

/** `detail` is a text, or a list of errors. */
function complaintOf(body: unknown): Complaint {
  const { detail, error_type: errorType, message } = membersOf(body)
  const { loc, msg, type } = membersOf(itemsOf(detail)[0])
  return prune({
    message: textIn(detail) ?? textIn(msg) ?? textIn(message),
    code: textIn(type) ?? textIn(errorType),
    param: itemsOf(loc).join('.'),
  })
}

const kinds: Readonly<Record<string, FailureKind>> = {
  content_policy_violation: 'content_policy',
  no_media_generated: 'no_picture',
  file_too_large: 'too_large',
  generation_timeout: 'timeout',
  request_timeout: 'timeout',
  startup_timeout: 'timeout',
  downstream_service_error: 'overloaded',
  downstream_service_unavailable: 'overloaded',
}

function kindOf(status: number, { code = '', message = '' }: Complaint): FailureKind {
  if (Object.hasOwn(kinds, code)) return kinds[code]!
  if (status === 403 && /balance|locked|credit/i.test(message)) return 'out_of_credit'
  return kindOfStatus(status)
}
