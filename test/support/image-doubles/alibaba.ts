import type { ReceivedRequest, ScriptedAnswer } from '../upstream.ts'
import { isPictureUrl, startImageDouble, unknownMembers, type ImageDouble } from './double.ts'

export const alibabaKey = 'sk-test-key-of-alibaba-0123456789'

type Item = { text?: string; image?: string }
type Body = {
  model: string
  input: { messages: { role: string; content: Item[] }[] }
  parameters?: { size?: string; n?: number; seed?: number; watermark?: boolean }
}
type Model = {
  /** Minimum and maximum number of input pictures. */
  images: [number, number]
  picturesMax: number
  size: 'listed' | 'sides' | 'area' | 'none'
}

const textToImage: Model = { images: [0, 0], picturesMax: 1, size: 'listed' }
const editing: Model = { images: [1, 3], picturesMax: 6, size: 'sides' }
const both: Model = { images: [0, 3], picturesMax: 6, size: 'area' }
const models: Record<string, Model> = {
  'qwen-image': textToImage,
  'qwen-image-plus': textToImage,
  'qwen-image-max': textToImage,
  'qwen-image-edit': { images: [1, 3], picturesMax: 1, size: 'none' },
  'qwen-image-edit-plus': editing,
  'qwen-image-edit-max': editing,
  'qwen-image-2.0': both,
  'qwen-image-2.0-pro': both,
  'qwen-image-2.1-pro': { ...both, images: [0, 10] },
  'qwen-image-3.0': both,
  'qwen-image-3.0-pro': both,
}
const listedSizes = new Set(['1664*928', '1472*1104', '1328*1328', '1104*1472', '928*1664'])
const defaultSizes = {
  listed: '1664*928',
  sides: '1024*1024',
  area: '1024*1024',
  none: '1024*1024',
}

/** A double of the image API of Alibaba's DashScope (docs/vendors.md#model-studio-images). */
export function startAlibabaDouble(): Promise<ImageDouble> {
  return startImageDouble({
    refusal,
    answer: (request, host) => {
      const { model, parameters = {} } = request.body as Body
      const { size = defaultSizes[models[model]!.size], n = 1, seed = host.serial } = parameters
      const [width = 0, height = 0] = size.split('*').map(Number)
      const content = Array.from({ length: n }, (_, index) => ({
        image: host.keep({ width, height, format: 'png', number: seed + index }),
      }))
      return JSON.stringify({
        output: {
          choices: [{ finish_reason: 'stop', message: { role: 'assistant', content } }],
          task_metric: { TOTAL: n, SUCCEEDED: n, FAILED: 0 },
        },
        usage: { image_count: n, width, height },
        request_id: `7d1c-${host.serial}`,
      })
    },
  })
}

function refusal({ path, headers, body }: ReceivedRequest): ScriptedAnswer | undefined {
  if (path !== '/api/v1/services/aigc/multimodal-generation/generation') {
    return refused(404, 'NotFound', 'url not found.')
  }
  const { authorization } = headers
  if (authorization !== `Bearer ${alibabaKey}`) {
    return refused(401, 'InvalidApiKey', `Invalid API-key provided: ${authorization}`)
  }
  const { model: name } = body as Body
  const model = models[name]
  if (model === undefined) return refused(404, 'ModelNotFound', `Model can not be found: ${name}`)
  const complaint = complaintAbout(body as Body, model)
  return complaint === undefined ? undefined : refused(400, 'InvalidParameter', complaint)
}

function refused(status: number, code: string, message: string): ScriptedAnswer {
  return { status, body: { request_id: '7d1c-refused', code, message } }
}

const parameterNames = ['size', 'n', 'negative_prompt', 'prompt_extend', 'watermark', 'seed']

function complaintAbout(body: Body, model: Model): string | undefined {
  const { input, parameters = {} } = body
  const { messages } = input
  const content = messages[0]?.content ?? []
  const unknown = [
    ...unknownMembers(body, ['model', 'input', 'parameters']),
    ...unknownMembers(input, ['messages']),
    ...unknownMembers(parameters, parameterNames),
    ...content.flatMap((item) => unknownMembers(item, ['text', 'image'])),
  ]
  if (unknown.length > 0) return `Unknown parameter: ${unknown[0]}`
  if (messages.length !== 1 || messages[0]!.role !== 'user') return 'messages must be one of user'
  if (content.filter(({ text }) => text !== undefined).length !== 1) return 'one text is needed'
  if (content.at(-1)?.text === undefined) return 'the text must follow the images'
  const images = content.flatMap(({ image }) => image ?? [])
  const [least, most] = model.images
  if (images.length < least || images.length > most) {
    return most === 0 ? 'the model does not support image input' : 'wrong number of images'
  }
  if (!images.every((one) => isPictureUrl(one, 10_000_000)))
    return 'the image format is illegal and cannot be opened'
  const { size, n = 1, seed = 0, watermark = false } = parameters
  if (model.picturesMax === 1 && n !== 1) return 'num_images_per_prompt must be 1'
  if (!Number.isInteger(n) || n < 1 || n > model.picturesMax) return 'n is out of range'
  if (!Number.isInteger(seed) || seed < 0 || seed > 2_147_483_647) return 'seed is out of range'
  if (typeof watermark !== 'boolean') return 'watermark must be a boolean'
  return size === undefined ? undefined : sizeComplaint(size, model)
}

function sizeComplaint(size: string, { size: rule }: Model): string | undefined {
  if (!/^\d+\*\d+$/.test(size)) return 'size must be in the format of width*height'
  const [width = 0, height = 0] = size.split('*').map(Number)
  const allowed = {
    listed: listedSizes.has(size),
    sides: [width, height].every((side) => side >= 512 && side <= 2048),
    area: width * height >= 512 * 512 && width * height <= 2048 * 2048,
    none: false,
  }
  return allowed[rule] ? undefined : `size ${size} is not supported`
}
