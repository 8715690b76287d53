import type { ReceivedRequest, ScriptedAnswer } from '../upstream.ts'
import { isPictureUrl, startImageDouble, unknownMembers, type ImageDouble } from './double.ts'

export const xaiKey = 'test-key-of-xai-0123456789'

type Input = { url?: string; type?: string }
type Body = {
  model: string
  prompt?: string
  n?: number
  aspect_ratio?: string
  resolution?: string
  quality?: string
  response_format?: string
  user?: string
  image?: Input
  images?: Input[]
}

const models = new Set(['grok-imagine-image-2.0'])
const ratios = new Set(
  '1:1 3:4 4:3 9:16 16:9 2:3 3:2 9:19.5 19.5:9 9:20 20:9 1:2 2:1 21:9 5:2 auto'.split(' '),
)
const known = 'model prompt n aspect_ratio resolution quality response_format user'.split(' ')

/** A double of xAI's image API (docs/vendors.md#xai-images). */
export function startXaiDouble(): Promise<ImageDouble> {
  return startImageDouble({
    refusal,
    answer: async function* ({ body }, host) {
      const { n = 1, aspect_ratio: ratio = 'auto', resolution = '1k', ...rest } = body as Body
      const side = resolution === '2k' ? 2048 : 1024
      const [across = 1, down = 1] = ratio === 'auto' ? [] : ratio.split(':').map(Number)
      const even = (length: number) => Math.round(length / 16) * 16
      const width = even(side * Math.sqrt(across / down))
      const height = even(side * Math.sqrt(down / across))
      const data = []
      for (let index = 0; index < n; index++) {
        const painting = { width, height, format: 'jpeg', number: host.serial + index } as const
        const item =
          rest.response_format === 'b64_json'
            ? { b64_json: await host.base64(painting) }
            : { url: host.keep(painting) }
        data.push({
          ...item,
          mime_type: 'image/jpeg',
          revised_prompt: '',
          respect_moderation: true,
        })
      }
      yield JSON.stringify({ data, usage: { cost_in_usd_ticks: ticksOf(body as Body) } })
    },
  })
}

/** The charge: dollars of a picture by quality and resolution, and of each input picture. */
function ticksOf({ n = 1, quality = 'medium', resolution = '1k', image, images = [] }: Body) {
  const output = { low: { '1k': 4, '2k': 6 }, medium: { '1k': 6, '2k': 8 } }
  // `refusal` admits only these values.
  const cents = output[quality as 'low' | 'medium'][resolution as '1k' | '2k']
  const inputs = image === undefined ? images.length : 1
  return (n * cents + inputs) * 100_000_000
}

function refusal({ path, headers, body }: ReceivedRequest): ScriptedAnswer | undefined {
  if (headers.authorization !== `Bearer ${xaiKey}`) {
    return refused(400, 'Client specified an invalid argument', 'Incorrect API key provided.')
  }
  const edits = path === '/images/edits'
  if (!edits && path !== '/images/generations') return refused(404, 'Not found', 'No such path.')
  if (headers['content-type'] !== 'application/json') {
    return refused(415, 'Unsupported media type', 'Expected request with `application/json`.')
  }
  const { model } = body as Body
  if (!models.has(model)) {
    return refused(404, 'Some requested entity was not found', `The model ${model} does not exist.`)
  }
  const [param] = [
    ...unknownMembers(body, edits ? [...known, 'image', 'images'] : known),
    ...wrongMembers(body as Body, edits),
  ]
  if (param === undefined) return undefined
  return refused(400, 'Client specified an invalid argument', `Argument not supported: ${param}`)
}

function wrongMembers(body: Body, edits: boolean): string[] {
  const { n = 1, aspect_ratio: ratio = 'auto', resolution = '1k', quality = 'medium' } = body
  const { response_format: format = 'url', image, images = [] } = body
  const inputs = image === undefined ? images : [image, ...images]
  const wrong = (name: string, right: boolean) => (right ? [] : [name])
  return [
    ...wrong('prompt', typeof body.prompt === 'string' && body.prompt !== ''),
    ...wrong('n', Number.isInteger(n) && n >= 1 && n <= 10),
    ...wrong('aspect_ratio', ratios.has(ratio)),
    ...wrong('resolution', ['1k', '2k'].includes(resolution)),
    ...wrong('quality', ['low', 'medium'].includes(quality)),
    ...wrong('response_format', ['url', 'b64_json'].includes(format)),
    ...wrong('images', !edits || (inputs.length >= 1 && inputs.length <= 3)),
    ...wrong('image', image === undefined || images.length === 0),
    ...wrong(
      'url',
      inputs.every(({ url, type }) => isPictureUrl(url) && type === 'image_url'),
    ),
  ]
}

function refused(status: number, code: string, error: string): ScriptedAnswer {
  return { status, body: { code, error } }
}
