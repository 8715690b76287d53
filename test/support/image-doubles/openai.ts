import type { ReceivedRequest, ScriptedAnswer } from '../upstream.ts'
import { isPictureUrl, startImageDouble, unknownMembers, type ImageDouble } from './double.ts'
import type { PictureFormat } from './paint.ts'

export const openaiKey = 'sk-test-key-of-openai-0123456789'

type Body = {
  model: string
  prompt?: string
  n?: number
  size?: string
  quality?: string
  background?: string
  output_format?: PictureFormat
  output_compression?: number
  input_fidelity?: string
  moderation?: string
  complexity?: string
  user?: string
  safety_identifier?: string
  images?: { image_url?: string; file_id?: string }[]
  stream?: boolean
  partial_images?: number
}
type Model = {
  freeSize: boolean
  qualities: string[]
  fidelities: string[]
  /** Whether the model plans with a chosen effort, and makes SVG. */
  plans?: boolean
}

const four = ['auto', 'low', 'medium', 'high']
const newest: Model = { freeSize: true, qualities: [...four, 'xhigh', 'max'], fidelities: [] }
const models: Record<string, Model> = {
  'gpt-image-2.6-sunburst': { ...newest, plans: true },
  'gpt-image-2.6-flare': { ...newest, plans: true },
  'gpt-image-2.5-sunburst': newest,
  'gpt-image-2.5-flare': newest,
  'gpt-image-2': { freeSize: true, qualities: four, fidelities: [] },
  'gpt-image-1.5': { freeSize: false, qualities: four, fidelities: ['high', 'low'] },
  'gpt-image-1-mini': { freeSize: false, qualities: four, fidelities: ['low'] },
}
const known = [
  'model',
  'prompt',
  'n',
  'size',
  'quality',
  'background',
  'output_format',
  'output_compression',
  'moderation',
  'complexity',
  'user',
  'safety_identifier',
  'stream',
  'partial_images',
]

/** A double of OpenAI's image API (docs/vendors.md#openai-images). */
export function startOpenaiDouble(): Promise<ImageDouble> {
  return startImageDouble({
    refusal,
    answer: async function* ({ body, method }, host) {
      if (method === 'GET') {
        const data = Object.keys(models).map((id) => ({ id, object: 'model' }))
        yield JSON.stringify({ object: 'list', data })
        return
      }
      const { n = 1, output_format: format = 'png', background = 'auto', ...rest } = body as Body
      const { size = 'auto', quality = 'auto', images = [] } = rest
      const text = size === 'auto' ? '1024x1024' : size
      const [width = 0, height = 0] = text.split('x').map(Number)
      const { stream = false, partial_images: partials = 0 } = rest
      const about = {
        background: background === 'auto' ? 'opaque' : background,
        output_format: format,
        quality: quality === 'auto' ? 'medium' : quality,
        size: text,
      }
      const kind = images.length > 0 ? 'image_edit' : 'image_generation'
      const event = (name: string, more: object) =>
        eventText(`${kind}.${name}`, { created_at: 1_763_602_000, ...about, ...more })
      for (let index = 0; index < partials; index++) {
        const number = 100 + index
        const b64_json = await host.base64({ width, height, format, number })
        yield event('partial_image', { b64_json, partial_image_index: index })
      }
      const data = []
      for (let index = 0; index < n; index++) {
        const number = host.serial + index
        data.push({ b64_json: await host.base64({ width, height, format, number }) })
      }
      const [textTokens, imageTokens] = [20, images.length * 100]
      const drawn = 1000 * n + 100 * partials
      const usage = {
        total_tokens: textTokens + imageTokens + drawn,
        input_tokens: textTokens + imageTokens,
        output_tokens: drawn,
        input_tokens_details: { text_tokens: textTokens, image_tokens: imageTokens },
        output_tokens_details: { image_tokens: drawn, text_tokens: 0 },
      }
      const svgUsage = {
        model: 'gpt-5.6-terra',
        input_tokens: 300,
        output_tokens: 2000,
        reasoning_tokens: 500,
        total_tokens: 2300,
      }
      const written = format === 'svg' ? { svg_usage: svgUsage } : {}
      if (stream) yield event('completed', { ...data[0], usage })
      else yield JSON.stringify({ created: 1_763_602_000, ...about, data, usage, ...written })
    },
  })
}

/** An event as OpenAI writes it. */
export function eventText(type: string, members: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
}

function refusal(request: ReceivedRequest): ScriptedAnswer | undefined {
  const { method, path, headers, body } = request
  const { authorization } = headers
  if (authorization !== `Bearer ${openaiKey}`) {
    const message = `Incorrect API key provided: ${authorization}.`
    return refused(401, { message, code: 'invalid_api_key' })
  }
  if (method === 'GET' && path === '/models') return undefined
  const edits = path === '/images/edits'
  if (!edits && path !== '/images/generations') return refused(404, { message: 'Invalid URL' })
  const { model: name } = body as Body
  const model = models[name]
  if (model === undefined) {
    return refused(404, { message: `No model ${name}`, code: 'model_not_found', param: 'model' })
  }
  const more = edits ? ['images', 'input_fidelity'] : []
  const [unknown] = unknownMembers(body, [...known, ...more])
  if (unknown !== undefined) {
    const message = `Unknown parameter: '${unknown}'.`
    return refused(400, { message, code: 'unknown_parameter', param: unknown })
  }
  const [param] = wrongMembers(body as Body, model, edits)
  if (param === undefined) return undefined
  return refused(400, { message: `Invalid '${param}'.`, code: 'invalid_value', param })
}

function refused(status: number, error: { message: string; code?: string; param?: string }) {
  return {
    status,
    body: { error: { type: 'invalid_request_error', param: null, code: null, ...error } },
  }
}

function wrongMembers(body: Body, model: Model, edits: boolean): string[] {
  const { n = 1, size = 'auto', quality = 'auto', output_format: format = 'png' } = body
  const { images = [], input_fidelity: fidelity, output_compression: compression } = body
  const { background = 'auto', stream = false, partial_images: partials = 0 } = body
  const wrong = (name: string, right: boolean) => (right ? [] : [name])
  return [
    ...wrong('prompt', typeof body.prompt === 'string' && /^.{1,32000}$/s.test(body.prompt)),
    ...wrong('n', Number.isInteger(n) && n >= 1 && n <= 10),
    ...wrong('size', isSize(size, model)),
    ...wrong('quality', model.qualities.includes(quality)),
    ...wrong('background', ['auto', 'opaque', 'transparent'].includes(background)),
    ...wrong('background', background !== 'transparent' || format !== 'jpeg'),
    ...wrong('output_format', isFormat(format, model)),
    ...wrong('output_compression', compression === undefined || /^(?:jpeg|webp)$/.test(format)),
    // SVG is made from a text alone, one at a time, and without a stream.
    ...wrong('n', format !== 'svg' || n === 1),
    ...wrong('stream', format !== 'svg' || !stream),
    ...wrong('output_format', format !== 'svg' || !edits),
    ...wrong('input_fidelity', fidelity === undefined || model.fidelities.includes(fidelity)),
    ...wrong('moderation', ['auto', 'low'].includes(body.moderation ?? 'auto')),
    ...wrong('complexity', body.complexity === undefined || isEffort(body.complexity, model)),
    ...wrong('stream', typeof stream === 'boolean'),
    ...wrong('partial_images', Number.isInteger(partials) && partials >= 0 && partials <= 3),
    ...wrong('partial_images', partials === 0 || stream),
    // The events of a stream do not say to which of several pictures they belong.
    ...wrong('n', n === 1 || !stream),
    ...wrong('safety_identifier', body.safety_identifier?.length !== 0),
    ...wrong('images', !edits || (images.length >= 1 && images.length <= 16)),
    ...wrong(
      'images',
      images.every((one) => Object.keys(one).length === 1 && isPictureUrl(one.image_url)),
    ),
  ]
}

function isFormat(format: string, { plans = false }: Model): boolean {
  return ['png', 'jpeg', 'webp', ...(plans ? ['svg'] : [])].includes(format)
}

function isEffort(complexity: string, { plans = false }: Model): boolean {
  return plans && ['low', 'medium', 'high'].includes(complexity)
}

function isSize(size: string, { freeSize }: Model): boolean {
  if (['auto', '1024x1024', '1536x1024', '1024x1536'].includes(size)) return true
  if (!freeSize || !/^\d+x\d+$/.test(size)) return false
  const [width = 0, height = 0] = size.split('x').map(Number)
  const [longer, shorter] = [Math.max(width, height), Math.min(width, height)]
  const area = width * height
  return (
    width % 16 === 0 &&
    height % 16 === 0 &&
    longer <= shorter * 3 &&
    longer <= 3840 &&
    area >= 655_360 &&
    area <= 8_294_400
  )
}
