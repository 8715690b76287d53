import type { ReceivedRequest, ScriptedAnswer } from '../upstream.ts'
import { isPictureUrl, startImageDouble, unknownMembers, type ImageDouble } from './double.ts'

export const bytedanceKey = 'test-key-of-bytedance-0123456789'

type Body = {
  model: string
  prompt?: string
  image?: string | string[]
  size?: string
  response_format?: string
  watermark?: boolean
  stream?: boolean
  sequential_image_generation?: string
  output_format?: 'jpeg' | 'png'
  background?: string
}
type Model = {
  classes: string[]
  pixels: [number, number]
  references: number
  formats: boolean
  backgrounds?: boolean
}

const models: Record<string, Model> = {
  'seedream-4-0-250828': {
    classes: ['1K', '2K', '4K'],
    pixels: [921_600, 16_777_216],
    references: 14,
    formats: false,
  },
  'seedream-4-5-251128': {
    classes: ['2K', '4K'],
    pixels: [3_686_400, 16_777_216],
    references: 14,
    formats: false,
  },
  'seedream-5-0-lite-260128': {
    classes: ['2K', '3K'],
    pixels: [3_686_400, 10_404_496],
    references: 14,
    formats: true,
  },
  'seedream-5-0-pro-260628': {
    classes: ['1K', '1.5K', '2K'],
    pixels: [921_600, 4_624_220],
    references: 10,
    formats: true,
  },
  'seedream-5-5-261028': {
    classes: ['1K', '1.5K', '2K'],
    pixels: [921_600, 4_194_304],
    references: 10,
    formats: true,
    backgrounds: true,
  },
  'seedream-5-0-flash-260915': {
    classes: ['1K', '1.5K', '2K'],
    pixels: [921_600, 4_624_220],
    references: 10,
    formats: true,
  },
}

/** A double of the image API of ByteDance's ModelArk (docs/vendors.md#modelark-images). */
export function startBytedanceDouble(): Promise<ImageDouble> {
  return startImageDouble({
    refusal,
    answer: async function* ({ body }, host) {
      const { size = '2048x2048', ...rest } = body as Body
      const native = models[rest.model]?.backgrounds ? 'png' : 'jpeg'
      const { output_format: format = native } = rest
      const side = { '1K': 1024, '2K': 2048, '3K': 3072, '4K': 4096 }[size]
      const text = side === undefined ? size : `${side}x${side}`
      const [width = 0, height = 0] = text.split('x').map(Number)
      const painting = { width, height, format, number: host.serial }
      const item =
        rest.response_format === 'b64_json'
          ? { b64_json: await host.base64(painting) }
          : { url: host.keep(painting) }
      const tokens = Math.round((width * height) / 256)
      yield JSON.stringify({
        model: rest.model,
        created: 1_763_601_000,
        data: [{ ...item, size: text }],
        usage: { generated_images: 1, output_tokens: tokens, total_tokens: tokens },
      })
    },
  })
}

const known = [
  'model',
  'prompt',
  'image',
  'size',
  'response_format',
  'watermark',
  'stream',
  'sequential_image_generation',
  'sequential_image_generation_options',
  'optimize_prompt_options',
  'output_format',
  'background',
]

function refusal({ path, headers, body }: ReceivedRequest): ScriptedAnswer | undefined {
  const { authorization } = headers
  if (authorization !== `Bearer ${bytedanceKey}`) {
    return refused(401, 'AuthenticationError', `The key ${authorization} is not valid.`)
  }
  if (path !== '/images/generations') return refused(404, 'InvalidEndpointOrModel', 'No such API.')
  const { model: name, ...rest } = body as Body
  const model = models[name]
  if (model === undefined) {
    return refused(404, 'InvalidEndpointOrModel.NotFound', `The model ${name} does not exist.`)
  }
  if (!rest.prompt) return refused(400, 'MissingParameter', 'prompt is missing', 'prompt')
  const [param] = [
    ...unknownMembers(body, known),
    ...wrongMembers(rest, model),
    ...(rest.size === undefined || isSize(rest.size, model) ? [] : ['size']),
  ]
  if (param === undefined) return undefined
  const text = `The parameter \`${param}\` specified in the request is not supported by the current model.`
  return refused(400, 'InvalidParameter', text, param)
}

function wrongMembers(body: Omit<Body, 'model'>, model: Model): string[] {
  const { image = [], response_format: answer = 'url', watermark = true } = body
  const images = [image].flat()
  const imagesRight =
    images.length <= model.references && images.every((one) => isPictureUrl(one, 10_000_000))
  return [
    ...(imagesRight ? [] : ['image']),
    ...(['url', 'b64_json'].includes(answer) ? [] : ['response_format']),
    ...(typeof watermark === 'boolean' ? [] : ['watermark']),
    ...(body.output_format === undefined || model.formats ? [] : ['output_format']),
    ...(body.background === undefined || model.backgrounds ? [] : ['background']),
    ...(body.background === 'transparent' && body.output_format === 'jpeg' ? ['background'] : []),
    ...(body.stream === true ? ['stream'] : []),
  ]
}

function isSize(size: string, { classes, pixels: [fewest, most] }: Model): boolean {
  if (classes.includes(size)) return true
  if (!/^\d+x\d+$/.test(size)) return false
  const [width = 0, height = 0] = size.split('x').map(Number)
  const ratio = Math.max(width / height, height / width)
  return width * height >= fewest && width * height <= most && ratio <= 16
}

function refused(status: number, code: string, text: string, param = ''): ScriptedAnswer {
  const message = `${text} Request ID: 02176360100012345`
  return { status, body: { error: { code, message, param, type: 'BadRequest' } } }
}
