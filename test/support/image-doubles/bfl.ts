import { readPicture } from '../../../src/core/image/picture.ts'
import type { ReceivedRequest, ScriptedAnswer } from '../upstream.ts'
import {
  isPicture,
  startImageDouble,
  unknownMembers,
  type ImageDouble,
  type Tasks,
} from './double.ts'

export const bflKey = 'bfl_test-key-of-black-forest-labs-0123456789'

type Body = Record<string, unknown> & {
  prompt?: string
  width?: number
  height?: number
  aspect_ratio?: string
}
type Pixels = { width: number; height: number }
type Model = {
  fields: readonly string[]
  inputs: readonly string[]
  /** Bounds of the sides; absent if the model takes a ratio, or has the size of its input. */
  sides?: { min: number; max: number; multiple: number; pixelsMax: number }
  toleranceMax: number
  format: 'jpeg' | 'png'
  /** Cents of the first megapixel, and of each further one and of each of an input picture. */
  cents: [first: number, more: number]
  area: number
}

const common = ['prompt', 'seed', 'output_format', 'safety_tolerance']
const megapixel = 2 ** 20
const inputsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => `input_image${index === 0 ? '' : `_${index + 1}`}`)
const flux2 = (cents: Model['cents'], count = 8, more: string[] = []): Model => ({
  fields: [...common, 'width', 'height', ...more],
  inputs: inputsOf(count),
  sides: { min: 64, max: 2048, multiple: 16, pixelsMax: 4 * megapixel },
  toleranceMax: 5,
  format: 'jpeg',
  cents,
  area: megapixel,
})
const kontext = (cents: number): Model => ({
  fields: [...common, 'aspect_ratio', 'prompt_upsampling'],
  inputs: inputsOf(4),
  toleranceMax: 6,
  format: 'png',
  cents: [cents, 0],
  area: megapixel,
})
const models: Record<string, Model> = {
  'flux-2-pro': flux2([3, 1.5]),
  'flux-2-max': flux2([7, 3]),
  'flux-2-flex': flux2([5, 5], 8, ['prompt_upsampling', 'steps', 'guidance']),
  'flux-2-klein-9b': flux2([1.5, 0.2], 4),
  'flux-2-klein-4b': flux2([1.4, 0.1], 4),
  'flux-2-pro-preview': flux2([3, 1.5]),
  'flux-kontext-pro': kontext(4),
  'flux-kontext-max': kontext(8),
  'flux-pro-1.1': {
    ...kontext(4),
    fields: [...common, 'width', 'height', 'prompt_upsampling'],
    inputs: ['image_prompt'],
    sides: { min: 256, max: 1440, multiple: 32, pixelsMax: 1440 ** 2 },
    format: 'jpeg',
  },
  'flux-pro-1.1-ultra': {
    ...kontext(6),
    fields: [...common, 'aspect_ratio', 'prompt_upsampling', 'raw', 'image_prompt_strength'],
    inputs: ['image_prompt'],
    format: 'jpeg',
    area: 4 * megapixel,
  },
  'flux-pro-1.0-fill': {
    ...kontext(5),
    fields: [...common, 'prompt_upsampling', 'steps', 'guidance', 'mask'],
    inputs: ['image'],
    format: 'jpeg',
  },
}

/** A double of the API of Black Forest Labs (docs/vendors.md#black-forest-labs-images). */
export function startBflDouble(): Promise<ImageDouble> {
  return startImageDouble({
    refusal,
    task: answerTask,
    answer: (request, host) => {
      const body = request.body as Body
      const model = models[nameIn(request)]!
      const inputs = model.inputs.flatMap((name) => pixelsOf(body[name]) ?? [])
      const { width, height } = sizeOf(body, model, inputs)
      const { output_format: format = model.format, seed = host.serial } = body
      const number = Number(seed)
      const painting = { width, height, format: format as 'png', number }
      const id = host.begin([host.keep(painting)])
      const inputMp = inputs.reduce((sum, one) => sum + megapixelsOf(one), 0)
      const outputMp = megapixelsOf({ width, height })
      const [first, more] = model.cents
      return JSON.stringify({
        id,
        polling_url: `http://${request.headers['host']}/get_result?id=${id}`,
        cost: first + more * (outputMp - 1 + inputMp),
        input_mp: inputMp,
        output_mp: outputMp,
      })
    },
  })
}

function megapixelsOf({ width, height }: Pixels): number {
  return Math.ceil((width * height) / megapixel)
}

function sizeOf(body: Body, { sides, area }: Model, [first]: readonly Pixels[]): Pixels {
  const { width = 0, height = 0, aspect_ratio: ratio } = body
  if (width > 0 && height > 0) return { width, height }
  if (typeof ratio === 'string') {
    const [across = 1, down = 1] = ratio.split(':').map(Number)
    const side = (share: number) => Math.round(Math.sqrt(area * share) / 16) * 16
    return { width: side(across / down), height: side(down / across) }
  }
  const least = sides?.min ?? 1
  if (first !== undefined && first.width >= least && first.height >= least) return first
  return sides?.multiple === 32 ? { width: 1024, height: 768 } : { width: 1024, height: 1024 }
}

function nameIn({ path }: ReceivedRequest): string {
  return path.slice(1)
}

function answerTask(request: ReceivedRequest, tasks: Tasks): ScriptedAnswer | undefined {
  const isForCredits = request.path === '/credits'
  const [, id] = /^\/get_result\?id=([\w-]+)$/.exec(request.path) ?? []
  if (id === undefined && !isForCredits) return undefined
  const unsigned = unsignedRefusal(request)
  if (unsigned !== undefined) return unsigned
  if (id === undefined) return { body: { credits: 12.5 } }
  const task = tasks.get(id)
  const state = { id, status: 'Pending', result: null, progress: null, details: null }
  if (task === undefined) return { body: { ...state, status: 'Task not found' } }
  if (task.state === 'failed') return { body: { ...state, status: 'Error' } }
  if (task.state !== 'done') return { body: state }
  const result = { sample: task.urls[0], seed: 42, start_time: 1, end_time: 2, duration: 1 }
  return { body: { ...state, status: 'Ready', result } }
}

function unsignedRefusal({ headers }: ReceivedRequest): ScriptedAnswer | undefined {
  if (headers['x-key'] === bflKey && headers['authorization'] === undefined) return undefined
  return { status: 403, body: { detail: `Not authenticated: ${String(headers['x-key'])}` } }
}

function refusal(request: ReceivedRequest): ScriptedAnswer | undefined {
  const unsigned = unsignedRefusal(request)
  if (unsigned !== undefined) return unsigned
  const model = models[nameIn(request)]
  if (model === undefined) return { status: 404, body: { detail: 'Not Found' } }
  if (request.method !== 'POST') return { status: 405, body: { detail: 'Method Not Allowed' } }
  const body = request.body as Body
  const [unknown] = unknownMembers(body, [...model.fields, ...model.inputs])
  if (unknown !== undefined) return refused(unknown, 'Extra inputs are not permitted')
  if (typeof body.prompt !== 'string') return refused('prompt', 'Field required')
  const refusal = badInput(body, model) ?? badSize(body, model) ?? badSetting(body, model)
  if (refusal === undefined) return undefined
  // The vendor repeats the whole request.
  const { detail } = refusal.body as { detail: object[] }
  return { ...refusal, body: { detail: detail.map((one) => ({ ...one, input: body })) } }
}

function badInput(body: Body, { inputs }: Model): ScriptedAnswer | undefined {
  for (const name of [...inputs, 'mask']) {
    if (body[name] === undefined) continue
    if (pixelsOf(body[name]) === undefined) return refused(name, 'Invalid base64 image')
  }
  const gap = inputs.findIndex((name) => body[name] === undefined)
  const late = inputs.slice(Math.max(0, gap)).find((name) => body[name] !== undefined)
  if (gap >= 0 && late !== undefined) return refused(late, 'Input images must be given in order')
  if (inputs[0] !== 'image') return undefined
  if (body['image'] === undefined) return refused('image', 'Field required')
  const [image, mask] = [pixelsOf(body['image']), pixelsOf(body['mask'])]
  const isSame =
    mask === undefined || (mask.width === image!.width && mask.height === image!.height)
  return isSame ? undefined : refused('mask', 'Mask dimensions do not match the image')
}

function badSize({ width, height, aspect_ratio: ratio }: Body, { sides }: Model) {
  if (ratio !== undefined) {
    const [across = 0, down = 0] = ratio.split(':').map(Number)
    const value = across / down
    if (!(value >= 9 / 21 && value <= 21 / 9))
      return refused('aspect_ratio', 'Invalid aspect ratio')
  }
  if (width === undefined && height === undefined) return undefined
  const { min, max, multiple, pixelsMax } = sides!
  for (const [name, side] of Object.entries({ width, height })) {
    if (!Number.isInteger(side) || side! < min || side! > max)
      return refused(name, `Input should be between ${min} and ${max}`)
    if (side! % multiple !== 0) return refused(name, `Input should be a multiple of ${multiple}`)
  }
  return width! * height! > pixelsMax ? refused('width', 'The picture is too large') : undefined
}

function badSetting(body: Body, { toleranceMax }: Model): ScriptedAnswer | undefined {
  const isBetween = (value: unknown, least: number, most: number) =>
    value === undefined || (typeof value === 'number' && value >= least && value <= most)
  if (!isBetween(body['safety_tolerance'], 0, toleranceMax))
    return refused('safety_tolerance', `Input should be less than or equal to ${toleranceMax}`)
  if (!isBetween(body['steps'], 1, 50)) return refused('steps', 'Input should be at most 50')
  if (!isBetween(body['seed'], 0, 2 ** 31 - 1)) return refused('seed', 'Input should be an integer')
  const format = body['output_format']
  if (format !== undefined && format !== 'jpeg' && format !== 'png')
    return refused('output_format', "Input should be 'jpeg' or 'png'")
  return undefined
}

/** The size of a picture in base64; undefined for anything else. */
function pixelsOf(value: unknown): Pixels | undefined {
  if (typeof value !== 'string') return undefined
  const picture = readPicture([Buffer.from(value)])
  if (picture === undefined || !isPicture(`image/${picture.format}`, value)) return undefined
  return { width: picture.width, height: picture.height }
}

function refused(field: string, msg: string): ScriptedAnswer {
  return { status: 422, body: { detail: [{ type: 'value_error', loc: ['body', field], msg }] } }
}
