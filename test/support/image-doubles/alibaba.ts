import type { ReceivedRequest, ScriptedAnswer } from '../upstream.ts'
import {
  isPictureUrl,
  startImageDouble,
  unknownMembers,
  type ImageDouble,
  type Tasks,
} from './double.ts'

export const alibabaKey = 'sk-test-key-of-alibaba-0123456789'

type Item = { text?: string; image?: string }
type Body = {
  model: string
  input: { messages: { role: string; content: Item[] }[]; prompt?: string }
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
    task: answerTask,
    answer: (request, host) => {
      const { model, parameters = {} } = request.body as Body
      const { size = defaultSizes[models[model]!.size], n = 1, seed = host.serial } = parameters
      const [width = 0, height = 0] = size.split('*').map(Number)
      const content = Array.from({ length: n }, (_, index) => ({
        image: host.keep({ width, height, format: 'png', number: seed + index }),
      }))
      if (request.path === taskPath) {
        const output = {
          task_id: host.begin(content.map(({ image }) => image)),
          task_status: 'PENDING',
        }
        return JSON.stringify({ output, request_id: `7d1c-${host.serial}` })
      }
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

const taskPath = '/api/v1/services/aigc/text2image/image-synthesis'
const taskModels = new Set(['qwen-image', 'qwen-image-plus'])
const states = {
  waiting: 'PENDING',
  running: 'RUNNING',
  done: 'SUCCEEDED',
  failed: 'FAILED',
  cancelled: 'CANCELED',
}

function answerTask(request: ReceivedRequest, tasks: Tasks): ScriptedAnswer | undefined {
  const [, id = '', cancel] = /^\/api\/v1\/tasks\/([\w-]+)(\/cancel)?$/.exec(request.path) ?? []
  if (id === '') return undefined
  const unsigned = unsignedRefusal(request)
  if (unsigned !== undefined) return unsigned
  if (request.headers['x-dashscope-async'] !== undefined)
    return refused(403, 'AccessDenied', 'current user api does not support asynchronous calls')
  const task = tasks.get(id)
  const output = { task_id: id, task_status: task === undefined ? 'UNKNOWN' : states[task.state] }
  if (task === undefined || cancel === undefined) {
    if (request.method !== 'GET') return refused(405, 'MethodNotAllowed', 'method not allowed')
    const results = task?.urls.map((url) => ({ orig_prompt: 'x', url }))
    const failed = { code: 'InternalError', message: 'The picture could not be made.' }
    const more = { SUCCEEDED: { results }, FAILED: failed }[output.task_status] ?? {}
    return { body: { request_id: '7d1c-task', output: { ...output, ...more } } }
  }
  if (request.method !== 'POST') return refused(405, 'MethodNotAllowed', 'method not allowed')
  if (task.state !== 'waiting')
    return refused(400, 'UnsupportedOperation', 'the task is not in PENDING status')
  task.state = 'cancelled'
  return { body: { request_id: '7d1c-cancelled' } }
}

function unsignedRefusal({ headers }: ReceivedRequest): ScriptedAnswer | undefined {
  const { authorization } = headers
  if (authorization === `Bearer ${alibabaKey}`) return undefined
  return refused(401, 'InvalidApiKey', `Invalid API-key provided: ${authorization}`)
}

function refusal(request: ReceivedRequest): ScriptedAnswer | undefined {
  const { path, headers, body } = request
  const isTask = path === taskPath
  if (!isTask && path !== '/api/v1/services/aigc/multimodal-generation/generation') {
    return refused(404, 'NotFound', 'url not found.')
  }
  const unsigned = unsignedRefusal(request)
  if (unsigned !== undefined) return unsigned
  if (isTask !== (headers['x-dashscope-async'] === 'enable'))
    return refused(403, 'AccessDenied', 'current user api does not support synchronous calls.')
  const { model: name } = body as Body
  const model = models[name]
  if (model === undefined) return refused(404, 'ModelNotFound', `Model can not be found: ${name}`)
  if (isTask && !taskModels.has(name))
    return refused(403, 'AccessDenied', 'current user api does not support asynchronous calls')
  const complaint = isTask
    ? complaintAboutTask(body as Body, model)
    : complaintAbout(body as Body, model)
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
  return parameterComplaint(parameters, model)
}

function complaintAboutTask(body: Body, model: Model): string | undefined {
  const { input, parameters = {} } = body
  const [unknown] = [
    ...unknownMembers(body, ['model', 'input', 'parameters']),
    ...unknownMembers(input, ['prompt', 'negative_prompt']),
    ...unknownMembers(parameters, parameterNames),
  ]
  if (unknown !== undefined) return `Unknown parameter: ${unknown}`
  if (typeof input.prompt !== 'string' || input.prompt === '') return 'prompt must not be empty'
  return parameterComplaint(parameters, model)
}

function parameterComplaint(parameters: Body['parameters'] & {}, model: Model) {
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
