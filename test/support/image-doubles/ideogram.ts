import type { ReceivedRequest, ScriptedAnswer } from '../upstream.ts'
import { isPicture, startImageDouble, unknownMembers, type ImageDouble } from './double.ts'
import { readForm, type FormFile } from './form.ts'

export const ideogramKey = 'test-key-of-ideogram-0123456789'

type Body = {
  prompt?: unknown
  magic_prompt?: string
  size?: string
  quality?: string
  background?: string
  seed?: number
  num_images?: number
  enable_copyright_detection?: boolean
  async?: boolean
  files?: readonly FormFile[]
}
type Item = {
  url: string | null
  prompt: string
  resolution: string
  seed: number
  is_image_safe: boolean
}

/** Pictures in flight of an organization, not requests. */
const inFlightMax = 10
const generate45 = '/v2/image/generate/ideogram-4-5'
const generate46 = '/v2/image/generate/ideogram-4-6'
const precise = '/v2/image/precise-edit/ideogram-4-5'
const fields = [
  'prompt',
  'magic_prompt',
  'seed',
  'num_images',
  'enable_copyright_detection',
  'async',
  'quality',
]
const known: Readonly<Record<string, readonly string[]>> = {
  [generate45]: [...fields, 'size'],
  [generate46]: [...fields, 'size', 'background'],
  [precise]: fields,
}
const presets = new Set(
  ['1024x1024', '896x1120', '864x1152', '832x1248', '800x1280', '720x1280', '720x1440', '512x1536']
    .map((size) => size.split('x').map(Number) as [number, number])
    .flatMap(([a, b]) => [`${a}x${b}`, `${b}x${a}`, `${2 * a}x${2 * b}`, `${2 * b}x${2 * a}`]),
)
/** Millionths of a dollar; the last is for input images. */
const prices: Readonly<Record<string, number>> = {
  very_low: 8000,
  low: 30_000,
  medium: 60_000,
  high: 100_000,
}

/**
 * A double of Ideogram's API (docs/vendors.md#ideogram). It withholds as many pictures as the prompt says after
 * `withhold`.
 */
export async function startIdeogramDouble(): Promise<ImageDouble> {
  const generations = new Map<string, { items: Item[]; cost: number }>()
  const open = new Set<string>()
  const double: ImageDouble = await startImageDouble({
    refusal: (request) => {
      if (double.calls.length === 1) open.clear()
      const refusal = refusalOf(request)
      if (refusal !== undefined || request.method === 'GET') return refusal
      const { num_images: count = 1 } = request.body as Body
      const running = [...open].filter((id) => double.tasks.get(id)!.state !== 'done')
      const inFlight = running.reduce((sum, id) => sum + generations.get(id)!.items.length, 0)
      if (inFlight + count <= inFlightMax) return undefined
      const limits = { max_inflight_requests: inFlightMax, task_completion_speed: 'fast' }
      return refused(429, 'Too many generations in progress.', {
        reject_reason: 'inflight_limit',
        ...limits,
      })
    },
    task: ({ method, path, headers }, tasks) => {
      const [, id] = /^\/v2\/generations\/([\w-]+)$/.exec(path) ?? []
      if (id === undefined || method !== 'GET') return undefined
      if (headers['api-key'] !== ideogramKey) return refused(401, 'Invalid API key.')
      const task = tasks.get(id)
      const generation = generations.get(id)
      if (task === undefined || generation === undefined) return refused(404, 'Not found.')
      const named = { generation_id: id, created: '2026-11-28T00:00:00Z' }
      if (task.state === 'failed')
        return { body: { ...named, status: 'failed', failure_reason: 'internal_error' } }
      if (task.state !== 'done') return { body: { ...named, status: 'pending' } }
      const ended = { status: 'completed', data: generation.items }
      return { body: { ...named, ...ended, usage_cost_usd_micros: generation.cost } }
    },
    answer: ({ method, path, body }, host) => {
      if (method === 'GET') return JSON.stringify({ datasets: [] })
      const {
        prompt,
        size = 'auto',
        seed = host.serial,
        num_images: count = 1,
        ...rest
      } = body as Body & { prompt: string }
      const isEdit = (rest.files ?? []).length > 0
      const [width = 0, height = 0] = (size === 'auto' ? '1024x1024' : size).split('x').map(Number)
      const quality = rest.quality ?? (isEdit ? 'medium' : 'high')
      const withheld = Number(/withhold (\d)/.exec(prompt)?.[1] ?? 0)
      const items = Array.from({ length: count }, (_, index): Item => {
        const isSafe = index >= withheld
        const painting = { width, height, format: 'png' as const, number: seed + index }
        return {
          url: isSafe ? host.keep(painting) : '',
          prompt: rest.magic_prompt === 'off' ? prompt : `${prompt}, in fine detail`,
          resolution: `${width}x${height}`,
          seed: seed + index,
          is_image_safe: isSafe,
        }
      })
      const price = path === precise && quality === 'high' ? 220_000 : prices[quality]!
      const id = host.begin(items.map(({ url }) => url ?? ''))
      generations.set(id, { items, cost: price * count })
      open.add(id)
      return JSON.stringify({ generation_id: id, seed })
    },
  })
  return double
}

function refused(status: number, error: string, more: object = {}): ScriptedAnswer {
  return { status, body: { error, ...more } }
}

function refusalOf(request: ReceivedRequest): ScriptedAnswer | undefined {
  const { method, path, headers } = request
  if (headers['api-key'] !== ideogramKey || headers.authorization !== undefined)
    return refused(401, 'Invalid API key.')
  if (method === 'GET' && path === '/datasets') return undefined
  const names = known[path]
  if (method !== 'POST' || names === undefined) return refused(404, 'Not found.')
  const form = readForm(request)
  if (form !== undefined) request.body = { ...typed(form.fields), files: form.files }
  else if (path !== generate45) return refused(415, 'Send multipart/form-data.')
  const body = request.body as Body
  const [unknown] = unknownMembers(body, [...names, 'files'])
  if (unknown !== undefined) return refused(400, `Unknown field '${unknown}'.`)
  const complaint = complaintAbout(body, path)
  if (complaint !== undefined) return refused(400, complaint)
  if (/forbidden/.test(String(body.prompt)))
    return refused(422, 'Prompt or provided image failed the safety checks.')
  return undefined
}

const numbers = new Set(['seed', 'num_images'])
const booleans = new Set(['async', 'enable_copyright_detection'])

function typed(texts: Readonly<Record<string, string>>): Record<string, unknown> {
  const valueOf = (name: string, text: string): unknown => {
    if (numbers.has(name)) return /^\d+$/.test(text) ? Number(text) : text
    return booleans.has(name) && /^(?:true|false)$/.test(text) ? text === 'true' : text
  }
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, valueOf(name, text)]),
  )
}

function complaintAbout(body: Body, path: string): string | undefined {
  const { prompt, magic_prompt: magic = 'auto', quality, seed = 0, num_images: count = 1 } = body
  const { background, size, files = [], enable_copyright_detection: detects = false } = body
  const isEdit = files.length > 0
  if (typeof prompt !== 'string' || !/^.{1,10000}$/su.test(prompt)) return 'Invalid prompt.'
  if (!['auto', 'on', 'off'].includes(magic)) return 'Invalid magic_prompt.'
  if (!Number.isInteger(seed) || seed < 0 || seed > 2_147_483_647) return 'Invalid seed.'
  if (!Number.isInteger(count) || count < 1 || count > 8) return 'Invalid num_images.'
  if (typeof detects !== 'boolean') return 'Invalid enable_copyright_detection.'
  if (body.async !== true) return 'The double makes asynchronous generations only.'
  if (quality !== undefined && !(quality in prices)) return 'Invalid quality.'
  if (quality === 'very_low' && !isEdit) return 'very_low requires source images.'
  if (background !== undefined && isEdit) return 'background is not for source images.'
  if (background !== undefined && !['transparent', 'opaque'].includes(background))
    return 'Invalid background.'
  if (size !== undefined && size !== 'auto' && !isSize(size, path, isEdit)) return 'Invalid size.'
  return fileComplaint(files, path)
}

function isSize(size: string, path: string, isEdit: boolean): boolean {
  const sides = size.split('x').map(Number)
  const [longer, shorter] = [Math.max(...sides), Math.min(...sides)]
  if (sides.length !== 2 || !sides.every(Number.isInteger)) return false
  if (path === generate45 && !isEdit) return presets.has(size)
  const sideMax = path === generate46 ? 4096 : 2048
  const isOnGrid = sides.every((side) => side % 32 === 0)
  return isOnGrid && shorter >= 256 && longer * shorter <= sideMax ** 2 && longer <= 6 * shorter
}

function fileComplaint(files: readonly FormFile[], path: string): string | undefined {
  const fieldsOf = files.map(({ field }) => field)
  const wrong = files.find(
    ({ type, bytes }) => bytes.length > 25_000_000 || !isPicture(type, bytes.toString('base64')),
  )
  if (wrong !== undefined) return `Invalid image in '${wrong.field}'.`
  if (path !== precise) {
    if (files.length > 5) return 'At most 5 images.'
    return fieldsOf.every((field) => field === 'images') ? undefined : 'Unknown file.'
  }
  if (fieldsOf.filter((field) => field === 'image').length !== 1) return 'One image is required.'
  if (files.length > 5) return 'At most 4 reference_images.'
  return fieldsOf.every((field) => field === 'image' || field === 'reference_images')
    ? undefined
    : 'Unknown file.'
}
