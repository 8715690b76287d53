import type { ReceivedRequest, ScriptedAnswer } from '../upstream.ts'
import { startImageDouble, unknownMembers, type ImageDouble, type Tasks } from './double.ts'

export const zaiKey = 'test-key-of-zai-0123456789.abcdefgh'

type Body = { model: string; prompt?: string; size?: string; quality?: string }
type Model = {
  qualities: string[]
  listed: string[]
  sideMin: number
  multiple: number
  pixelsMax: number
}

const models: Record<string, Model> = {
  'glm-image': {
    qualities: ['hd'],
    listed: [
      '1280x1280',
      '1568x1056',
      '1056x1568',
      '1472x1088',
      '1088x1472',
      '1728x960',
      '960x1728',
    ],
    sideMin: 1024,
    multiple: 32,
    pixelsMax: 2 ** 22,
  },
  'cogview-4-250304': {
    qualities: ['hd', 'standard'],
    listed: ['1024x1024', '768x1344', '864x1152', '1344x768', '1152x864', '1440x720', '720x1440'],
    sideMin: 512,
    multiple: 16,
    pixelsMax: 2 ** 21,
  },
}

/** A double of Z.AI's image API (docs/vendors.md#zai-images). */
export function startZaiDouble(): Promise<ImageDouble> {
  return startImageDouble({
    refusal,
    task: answerTask,
    answer: ({ path, body }, host) => {
      const { model, size = models[model]!.listed[0]! } = body as Body
      const [width = 0, height = 0] = size.split('x').map(Number)
      const url = host.keep({ width, height, format: 'png', number: host.serial })
      if (path === taskPath) {
        const id = host.begin([url])
        const named = { id, model, request_id: 'request-1' }
        return JSON.stringify({ ...named, task_status: 'PROCESSING' })
      }
      const filter = [{ role: 'assistant', level: 3 }]
      return JSON.stringify({ created: 1_763_600_000, data: [{ url }], content_filter: filter })
    },
  })
}

const taskPath = '/async/images/generations'

function answerTask(request: ReceivedRequest, tasks: Tasks): ScriptedAnswer | undefined {
  const [, id = ''] = /^\/async-result\/([\w-]+)$/.exec(request.path) ?? []
  if (id === '') return undefined
  const unsigned = unsignedRefusal(request)
  if (unsigned !== undefined) return unsigned
  const task = tasks.get(id)
  if (task === undefined) return refused(400, '1214', 'The task does not exist')
  const named = { id, model: 'glm-image', request_id: 'request-1' }
  if (task.state === 'failed') return { body: { ...named, task_status: 'FAIL' } }
  if (task.state !== 'done') return { body: { ...named, task_status: 'PROCESSING' } }
  const image_result = task.urls.map((url) => ({ url }))
  return { body: { ...named, task_status: 'SUCCESS', image_result } }
}

function unsignedRefusal({ headers }: ReceivedRequest): ScriptedAnswer | undefined {
  const { authorization } = headers
  if (authorization === `Bearer ${zaiKey}`) return undefined
  return refused(401, '1000', `Authentication failed for ${authorization}`)
}

function refusal(request: ReceivedRequest): ScriptedAnswer | undefined {
  const { path, body } = request
  const unsigned = unsignedRefusal(request)
  if (unsigned !== undefined) return unsigned
  const isTask = path === taskPath
  if (!isTask && path !== '/images/generations')
    return refused(404, '1222', 'The API does not exist')
  const { model: name, prompt, size, quality } = body as Body
  const model = models[name]
  if (isTask && name !== 'glm-image') return refused(400, '1211', 'Unknown model')
  if (model === undefined) return refused(400, '1211', 'Unknown model, please check the code')
  const known = ['model', 'prompt', 'size', 'quality', 'user_id', 'request_id', 'watermark_enabled']
  const [unknown] = unknownMembers(body, known)
  if (unknown !== undefined) return refused(400, '1210', `Invalid API parameter: ${unknown}`)
  if (!prompt) return refused(400, '1213', 'The prompt parameter was not received normally')
  if (quality !== undefined && !model.qualities.includes(quality)) {
    return refused(400, '1214', 'The quality parameter is illegal')
  }
  if (size !== undefined && !isSize(size, model)) {
    return refused(400, '1214', 'The size parameter is illegal')
  }
  return undefined
}

function isSize(size: string, { listed, sideMin, multiple, pixelsMax }: Model): boolean {
  if (listed.includes(size)) return true
  if (!/^\d+x\d+$/.test(size)) return false
  const [width = 0, height = 0] = size.split('x').map(Number)
  const sides = [width, height].every(
    (side) => side >= sideMin && side <= 2048 && side % multiple === 0,
  )
  return sides && width * height <= pixelsMax
}

function refused(status: number, code: string, message: string): ScriptedAnswer {
  return { status, body: { error: { code, message } } }
}
