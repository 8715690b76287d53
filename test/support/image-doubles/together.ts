import type { ReceivedRequest, ScriptedAnswer } from '../upstream.ts'
import { isPictureUrl, startImageDouble, unknownMembers, type ImageDouble } from './double.ts'
import type { PictureFormat } from './paint.ts'

export const togetherKey = 'test-key-of-together-0123456789'

type Body = {
  model: string
  prompt?: string
  n?: number
  width?: number
  height?: number
  seed?: number
  response_format?: string
  output_format?: PictureFormat
  image_url?: string
}

const known = [
  'model',
  'prompt',
  'n',
  'width',
  'height',
  'seed',
  'response_format',
  'output_format',
  'image_url',
]

/** A double of Together's image API (docs/vendors.md#openai-compatible-endpoints). */
export function startTogetherDouble(): Promise<ImageDouble> {
  return startImageDouble({
    refusal,
    answer: async function* ({ body }, host) {
      const { width = 1024, height = 768, output_format: format = 'jpeg', n = 1 } = body as Body
      const data = []
      for (let index = 0; index < n; index++) {
        const painting = { width, height, format, number: host.serial + index }
        const isText = (body as Body).response_format === 'base64'
        const item = isText
          ? { b64_json: await host.base64(painting) }
          : { url: host.keep(painting) }
        data.push({ index, ...item })
      }
      yield JSON.stringify({ id: 'o1', model: (body as Body).model, object: 'list', data })
    },
  })
}

function refusal({ path, headers, body }: ReceivedRequest): ScriptedAnswer | undefined {
  if (headers.authorization !== `Bearer ${togetherKey}`) {
    return refused(401, 'Invalid API key provided.', 'invalid_api_key')
  }
  if (path !== '/images/generations') return refused(404, `No path ${path}.`, 'not_found')
  const {
    prompt,
    n = 1,
    width = 8,
    height = 8,
    response_format: answer = 'url',
    ...rest
  } = body as Body
  const { output_format: format = 'jpeg', image_url: input } = rest
  const wrong = (name: string, right: boolean) => (right ? [] : [name])
  const [param] = [
    ...unknownMembers(body, known),
    ...wrong('prompt', typeof prompt === 'string' && prompt !== ''),
    ...wrong('n', Number.isInteger(n) && n >= 1 && n <= 4),
    ...wrong('width', Number.isInteger(width)),
    ...wrong('height', Number.isInteger(height)),
    ...wrong('response_format', ['url', 'base64'].includes(answer)),
    ...wrong('output_format', ['jpeg', 'png'].includes(format)),
    ...wrong('image_url', input === undefined || isPictureUrl(input)),
  ]
  return param === undefined
    ? undefined
    : refused(400, `Invalid or unknown parameter: ${param}`, 'invalid_request')
}

function refused(status: number, message: string, code: string): ScriptedAnswer {
  const error = { message, type: 'invalid_request_error', param: null, code }
  return { status, body: { id: 'o1', error } }
}
