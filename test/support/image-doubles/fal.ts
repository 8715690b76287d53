import type { ReceivedRequest, ScriptedAnswer } from '../upstream.ts'
import {
  isPictureUrl,
  startImageDouble,
  unknownMembers,
  type ImageDouble,
  type Tasks,
} from './double.ts'
import type { PictureFormat } from './paint.ts'

export const falKey = '0a1b2c3d-test-key-of-fal:0123456789abcdef'

type Size = { width: number; height: number }
type Body = {
  prompt?: string
  seed?: number
  num_images?: number
  output_format?: PictureFormat
  image_size?: Size
  aspect_ratio?: string
  resolution?: string
  image_url?: string
  image_urls?: string[]
}
type Endpoint = {
  /** Members besides the prompt. */
  takes: string[]
  formats?: PictureFormat[]
  picturesMax?: number
  /** The least and the most input pictures. */
  inputs?: [number, number]
  isSize?: (size: Size) => boolean
  ratios?: string[]
  resolutions?: string[]
  /** What is charged. */
  unit: 'megapixel' | 'image'
}

const tuning = ['guidance_scale', 'num_inference_steps', 'enable_safety_checker', 'acceleration']
const sized = ['image_size', 'num_images', 'output_format', 'seed', ...tuning]
const shaped = ['aspect_ratio', 'num_images', 'output_format', 'seed', 'safety_tolerance']
const between = (least: number, most: number) => (size: Size) =>
  [size.width, size.height].every((side) => side >= least && side <= most)
const kontextRatios = ['21:9', '16:9', '4:3', '3:2', '1:1', '2:3', '3:4', '9:16', '9:21']
const bananaRatios = [
  'auto',
  '21:9',
  '16:9',
  '3:2',
  '4:3',
  '5:4',
  '1:1',
  '4:5',
  '3:4',
  '2:3',
  '9:16',
]
const flux1: Endpoint = { takes: sized, formats: ['jpeg', 'png'], unit: 'megapixel' }
const flux2: Endpoint = {
  takes: [...sized, 'enable_prompt_expansion'],
  formats: ['jpeg', 'png', 'webp'],
  isSize: between(512, 2048),
  unit: 'megapixel',
}
const flux2Pro: Endpoint = {
  takes: ['image_size', 'output_format', 'seed', 'safety_tolerance', 'enable_safety_checker'],
  formats: ['jpeg', 'png'],
  isSize: ({ width, height }) =>
    between(256, 2560)({ width, height }) && width % 16 === 0 && height % 16 === 0,
  unit: 'image',
}
const kontext: Endpoint = {
  takes: [...shaped, 'guidance_scale', 'enhance_prompt'],
  formats: ['jpeg', 'png'],
  ratios: kontextRatios,
  unit: 'image',
}
const banana: Endpoint = {
  takes: [...shaped, 'resolution', 'enable_web_search', 'limit_generations'],
  formats: ['jpeg', 'png', 'webp'],
  ratios: bananaRatios,
  resolutions: ['1K', '2K', '4K'],
  unit: 'image',
}
const banana2: Endpoint = {
  ...banana,
  takes: [...banana.takes, 'thinking_level'],
  ratios: [...bananaRatios, '4:1', '1:4', '8:1', '1:8'],
  resolutions: ['0.5K', '1K', '2K', '4K'],
}
const seedream: Endpoint = {
  takes: ['image_size', 'num_images', 'max_images', 'seed', 'enable_safety_checker'],
  isSize: (size) =>
    between(1920, 4096)(size) ||
    (size.width * size.height >= 2560 * 1440 && size.width * size.height <= 4096 * 4096),
  unit: 'image',
}
const several = (endpoint: Endpoint, most: number): Endpoint => ({ ...endpoint, inputs: [1, most] })

/** Endpoints of fal with the members of their inputs, as its client types them. */
const endpoints: Record<string, Endpoint> = {
  'fal-ai/flux/schnell': flux1,
  'fal-ai/flux/dev': flux1,
  'fal-ai/flux-2': flux2,
  'fal-ai/flux-2/edit': several(flux2, 4),
  'fal-ai/flux-2-pro': flux2Pro,
  'fal-ai/flux-2-pro/edit': several(flux2Pro, 9),
  'fal-ai/flux-pro/kontext/text-to-image': kontext,
  'fal-ai/flux-pro/kontext': several(kontext, 1),
  'fal-ai/flux-pro/v1.1-ultra': {
    ...kontext,
    takes: [...shaped, 'raw', 'enhance_prompt', 'image_prompt_strength'],
    inputs: [0, 1],
  },
  'fal-ai/nano-banana-2': banana2,
  'fal-ai/nano-banana-2/edit': several(banana2, 14),
  'fal-ai/nano-banana-pro': banana,
  'fal-ai/nano-banana-pro/edit': several(banana, 14),
  'fal-ai/imagen4/preview': {
    ...banana,
    takes: [...shaped, 'resolution'],
    ratios: ['1:1', '16:9', '9:16', '4:3', '3:4'],
    resolutions: ['1K', '2K'],
  },
  'fal-ai/bytedance/seedream/v4.5/text-to-image': seedream,
  'fal-ai/bytedance/seedream/v4.5/edit': several(seedream, 10),
  'fal-ai/qwen-image': { ...flux1, takes: [...sized, 'negative_prompt', 'loras', 'use_turbo'] },
  'fal-ai/qwen-image-edit': several({ ...flux1, takes: [...sized, 'negative_prompt'] }, 1),
  'fal-ai/ideogram/v3': {
    takes: ['image_size', 'num_images', 'seed', 'negative_prompt', 'rendering_speed', 'style'],
    unit: 'image',
  },
  'fal-ai/recraft/v4/text-to-image': {
    takes: ['image_size', 'colors', 'background_color', 'enable_safety_checker'],
    unit: 'image',
  },
  'fal-ai/recraft/v4/text-to-vector': {
    takes: ['image_size', 'colors', 'background_color', 'enable_safety_checker'],
    unit: 'image',
  },
  'fal-ai/hidream-i1-full': { ...flux1, takes: [...sized, 'negative_prompt', 'loras'] },
  'fal-ai/z-image/turbo': { ...flux2, isSize: () => true },
}

/** An endpoint that is in no list: it ignores what it does not take, as most endpoints do. */
const other = /^\/someone\/paints(?:\/edit|\/wide)?$/

/** A double of the queue of fal (docs/vendors.md#fal). */
export function startFalDouble(): Promise<ImageDouble> {
  const results = new Map<string, ScriptedAnswer>()
  return startImageDouble({
    refusal,
    task: (request, tasks) => answerTask(request, tasks, results),
    answer: ({ path, body }, host) => {
      const input = body as Body
      const { num_images: count = 1, seed = host.serial } = input
      const format = path.endsWith('vector') ? 'svg' : (input.output_format ?? 'jpeg')
      const { unit = 'image', resolutions } = endpoints[path.slice(1)] ?? {}
      const size = input.image_size ?? sizeOf(input)
      const images = Array.from({ length: count }, (_, index) => ({
        url: host.keep({ ...size, format, number: seed + index }),
        ...size,
        content_type: `image/${format}`,
      }))
      const id = host.begin(images.map(({ url }) => url))
      const area = Math.ceil((size.width * size.height) / 1024 / 1024)
      const factor = resolutions === undefined ? 1 : bananaFactor(path, input.resolution)
      const units = count * (unit === 'megapixel' ? area : factor)
      const headers = { 'x-fal-billable-units': String(units), 'x-fal-request-id': id }
      const found = images.map(() => false)
      results.set(id, { headers, body: { images, seed, has_nsfw_concepts: found, prompt: 'x' } })
      // The addresses lead nowhere: the gateway must not use them.
      const at = `https://queue.fal.example/requests/${id}`
      const addresses = { response_url: at, status_url: `${at}/status`, cancel_url: `${at}/cancel` }
      return JSON.stringify({ status: 'IN_QUEUE', request_id: id, ...addresses, queue_position: 0 })
    },
  })
}

/** What the size classes cost. */
function bananaFactor(path: string, resolution = '1K'): number {
  const isPro = path.includes('pro') || path.includes('imagen')
  if (isPro) return resolution === '4K' ? 2 : 1
  return { '0.5K': 0.75, '2K': 1.5, '4K': 2 }[resolution] ?? 1
}

function sizeOf({ aspect_ratio: ratio = '1:1', resolution = '1K' }: Body): Size {
  if (ratio === 'auto') return { width: 1024, height: 1024 }
  const [across = 1, down = 1] = ratio.split(':').map(Number)
  const side = 1024 * Number.parseFloat(resolution)
  const width = Math.round(side * Math.sqrt(across / down))
  return { width, height: Math.round((side * side) / width) }
}

const taskPath = /^\/([\w-]+\/[\w.-]+(?:\/quality)?)\/requests\/(task-[\w-]+)(\/status|\/cancel)?$/

function answerTask(
  request: ReceivedRequest,
  tasks: Tasks,
  results: ReadonlyMap<string, ScriptedAnswer>,
): ScriptedAnswer | undefined {
  const [, , id = '', what = ''] = taskPath.exec(request.path) ?? []
  if (id === '') return undefined
  const unsigned = unsignedRefusal(request)
  if (unsigned !== undefined) return unsigned
  const task = tasks.get(id)
  if (task === undefined) return refused(404, `Request ${id} not found`)
  if (what === '/cancel') {
    if (request.method !== 'PUT') return refused(405, 'Method Not Allowed')
    if (task.state === 'done') return { status: 400, body: { status: 'ALREADY_COMPLETED' } }
    task.state = 'cancelled'
    return { status: 202, body: { status: 'CANCELLATION_REQUESTED' } }
  }
  if (request.method !== 'GET') return refused(405, 'Method Not Allowed')
  const isOver = task.state === 'done' || task.state === 'failed'
  if (what === '/status') {
    const waiting = task.state === 'running' ? 'IN_PROGRESS' : 'IN_QUEUE'
    const body = { status: isOver ? 'COMPLETED' : waiting, request_id: id, logs: null }
    return { status: isOver ? 200 : 202, body }
  }
  if (!isOver) return refused(400, 'Request is still in progress')
  if (task.state === 'done') return results.get(id)!
  const detail = [{ loc: ['body'], msg: 'Internal server error', type: 'internal_server_error' }]
  return { status: 500, headers: { 'x-fal-retryable': 'false' }, body: { detail } }
}

function unsignedRefusal({ headers }: ReceivedRequest): ScriptedAnswer | undefined {
  const { authorization } = headers
  if (authorization === `Key ${falKey}`) return undefined
  return refused(401, `No user found for Key ID and Secret ${authorization}`)
}

function refusal(request: ReceivedRequest): ScriptedAnswer | undefined {
  const { path, method, headers, body } = request
  const unsigned = unsignedRefusal(request)
  if (unsigned !== undefined) return unsigned
  if (method === 'GET' && path === '/v1/models/pricing?endpoint_id=fal-ai/flux/schnell')
    return { body: { prices: [{ endpoint_id: 'fal-ai/flux/schnell', unit_price: 0.003 }] } }
  if (method !== 'POST') return refused(405, 'Method Not Allowed')
  const { expiration_duration_seconds: seconds } = JSON.parse(
    String(headers['x-fal-object-lifecycle-preference'] ?? '{}'),
  ) as { expiration_duration_seconds?: number }
  if (seconds !== 86_400) return refused(400, 'The media would be kept for ever')
  const endpoint = endpoints[path.slice(1)]
  if (endpoint === undefined && !other.test(path))
    return refused(404, `Application '${path.slice(1)}' not found`)
  const [wrong] = endpoint === undefined ? [] : wrongMembers(body as Body, endpoint)
  if (wrong === undefined) return undefined
  const detail = [{ loc: ['body', wrong], msg: `Invalid ${wrong}`, type: 'value_error' }]
  return { status: 422, headers: { 'x-fal-retryable': 'false' }, body: { detail } }
}

function wrongMembers(body: Body, endpoint: Endpoint): string[] {
  const { takes, formats = [], picturesMax = 4, inputs = [0, 0] } = endpoint
  const { isSize = () => true, ratios = [], resolutions = [] } = endpoint
  const [least, most] = inputs
  const reference = most === 0 ? [] : [most === 1 ? 'image_url' : 'image_urls']
  const { prompt, seed, num_images: count = 1, output_format: format, image_size: size } = body
  const { aspect_ratio: ratio, resolution, image_url: one, image_urls: list } = body
  const pictures = list ?? (one === undefined ? [] : [one])
  const isSide = (side: unknown) => Number.isInteger(side) && Number(side) >= 1
  const wrong = (name: string, right: boolean) => (right ? [] : [name])
  return [
    ...unknownMembers(body, ['prompt', ...takes, ...reference]),
    ...wrong('prompt', typeof prompt === 'string' && prompt !== ''),
    ...wrong('seed', seed === undefined || Number.isInteger(seed)),
    ...wrong('num_images', Number.isInteger(count) && count >= 1 && count <= picturesMax),
    ...wrong('output_format', format === undefined || formats.includes(format)),
    ...wrong(
      'image_size',
      size === undefined || (isSide(size.width) && isSide(size.height) && isSize(size)),
    ),
    ...wrong('aspect_ratio', ratio === undefined || ratios.includes(ratio)),
    ...wrong('resolution', resolution === undefined || resolutions.includes(resolution)),
    ...wrong(reference[0] ?? 'image_urls', pictures.length >= least && pictures.length <= most),
    ...wrong(
      reference[0] ?? 'image_urls',
      pictures.every((picture) => isPictureUrl(picture)),
    ),
  ]
}

function refused(status: number, detail: string): ScriptedAnswer {
  return { status, body: { detail } }
}
