import type { ReceivedRequest, ScriptedAnswer } from '../upstream.ts'
import { isPictureUrl, startImageDouble, unknownMembers, type ImageDouble } from './double.ts'
import type { PictureFormat } from './paint.ts'

export const recraftKey = 'test-key-of-recraft-0123456789'

type Color = { rgb?: number[]; weight?: number }
type Body = {
  model: string
  prompt?: string
  n?: number
  size?: string
  style?: string
  substyle?: string
  style_id?: string
  style_match?: string
  negative_prompt?: string
  random_seed?: number
  response_format?: string
  image_format?: 'png' | 'webp'
  text_layout?: { text?: string; bbox?: number[][] }[]
  controls?: {
    colors?: Color[]
    background_color?: Color
    artistic_level?: number
    no_text?: boolean
  }
  image_url?: string
  strength?: number
}
type Model = {
  /** Credits of a picture; 1,000 are a dollar. */
  credits: number
  generation: 2 | 3 | 4
  isVector?: true
  isPro?: true
  /** Makes no edits, and has no styles in the fourth generation. */
  isFast?: true
}

const models: Record<string, Model> = {
  recraftv4_1: { credits: 35, generation: 4 },
  recraftv4_1_pro: { credits: 210, generation: 4, isPro: true },
  recraftv4_1_vector: { credits: 80, generation: 4, isVector: true },
  recraftv4_1_pro_vector: { credits: 300, generation: 4, isVector: true },
  recraftv4_1_utility: { credits: 35, generation: 4 },
  recraftv4_1_utility_pro: { credits: 210, generation: 4, isPro: true },
  recraftv4_1_utility_vector: { credits: 80, generation: 4, isVector: true },
  recraftv4_1_utility_pro_vector: { credits: 300, generation: 4, isVector: true },
  recraftv4_1_flash: { credits: 7, generation: 4, isFast: true },
  recraftv4: { credits: 40, generation: 4 },
  recraftv4_pro: { credits: 250, generation: 4, isPro: true },
  recraftv4_vector: { credits: 80, generation: 4, isVector: true },
  recraftv4_pro_vector: { credits: 300, generation: 4, isVector: true },
  recraftv3: { credits: 40, generation: 3 },
  recraftv3_vector: { credits: 80, generation: 3, isVector: true },
  recraftv2: { credits: 22, generation: 2, isFast: true },
  recraftv2_vector: { credits: 44, generation: 2, isVector: true, isFast: true },
}
const ratios = '1:1 2:1 1:2 3:2 2:3 4:3 3:4 5:4 4:5 6:10 14:10 10:14 16:9 9:16'.split(' ')
const newSizes =
  '1024x1024 1536x768 768x1536 1280x832 832x1280 1216x896 896x1216 1152x896 896x1152 832x1344 1280x896 896x1280 1344x768 768x1344'
const oldSizes =
  '1024x1024 2048x1024 1024x2048 1536x1024 1024x1536 1365x1024 1024x1365 1280x1024 1024x1280 1024x1707 1434x1024 1024x1434 1820x1024 1024x1820'
const doubled = newSizes.replaceAll(/\d+/g, (side) => String(Number(side) * 2))

function sizesOf({ generation, isVector, isPro }: Model): string[] {
  if (isVector) return ratios
  return (generation < 4 ? oldSizes : isPro ? doubled : newSizes).split(' ')
}

/** A double of Recraft's API (docs/vendors.md#recraft). */
export function startRecraftDouble(): Promise<ImageDouble> {
  return startImageDouble({
    refusal,
    answer: async function* ({ method, body }, host) {
      if (method === 'GET') {
        yield JSON.stringify({ id: 'a1f2c8d4', credits: 4200, email: 'a@example.com' })
        return
      }
      const { n = 1, random_seed: seed = host.serial, size, ...rest } = body as Body
      const model = models[rest.model]!
      const base = model.isPro || model.isVector ? 2048 : 1024
      const pixels = size?.includes('x') ? size : `${base}x${base}`
      const [width = 0, height = 0] = pixels.split('x').map(Number)
      const format: PictureFormat = model.isVector ? 'svg' : (rest.image_format ?? 'webp')
      const data = []
      for (let index = 0; index < n; index++) {
        const painting = { width, height, format, number: seed + index }
        const item =
          rest.response_format === 'b64_json'
            ? { b64_json: await host.base64(painting) }
            : { url: host.keep(painting) }
        data.push({ image_id: `a1f2c8d4-${host.serial}-${index}`, ...item })
      }
      yield JSON.stringify({ created: 1_764_300_000, credits: n * model.credits, data })
    },
  })
}

const known =
  'model prompt n size style substyle style_id style_match negative_prompt random_seed response_format image_format text_layout controls'.split(
    ' ',
  )

function refusal({ method, path, headers, body }: ReceivedRequest): ScriptedAnswer | undefined {
  if (headers.authorization !== `Bearer ${recraftKey}`)
    return refused(401, 'unauthorized', `Bad token: ${headers.authorization}`)
  if (method === 'GET' && path === '/users/me') return undefined
  const edits = path === '/images/imageToImage'
  if (!edits && path !== '/images/generations')
    return refused(404, 'not_found', 'The path is not known.')
  if (headers['content-type'] !== 'application/json')
    return refused(415, 'unsupported_media_type', 'Send application/json.')
  const { model: name } = body as Body
  const model = models[name]
  if (model === undefined)
    return refused(400, 'invalid_request_parameter', `unknown model: ${name}`)
  const own = edits ? [...known.filter((one) => one !== 'size'), 'image_url', 'strength'] : known
  const { controls = {} } = body as Body
  const [wrong] = [
    ...unknownMembers(body, own),
    ...unknownMembers(controls, ['colors', 'background_color', 'artistic_level', 'no_text']),
    ...wrongMembers(body as Body, model, edits),
  ]
  if (wrong === undefined) return undefined
  return refused(400, 'invalid_request_parameter', `${wrong} is not supported by ${name}`)
}

function refused(status: number, code: string, message: string): ScriptedAnswer {
  return { status, body: { code, message } }
}

function wrongMembers(body: Body, model: Model, edits: boolean): string[] {
  const { prompt, n = 1, size, controls = {}, text_layout: texts = [], strength } = body
  const isOld = model.generation < 4
  const wrong = (name: string, right: boolean) => (right ? [] : [name])
  const absent = (names: (keyof Body)[]) => names.filter((name) => body[name] !== undefined)
  const colors = [...(controls.colors ?? []), controls.background_color ?? { rgb: [0, 0, 0] }]
  return [
    ...wrong('prompt', typeof prompt === 'string' && prompt !== ''),
    ...wrong('prompt', prompt!.length <= (isOld ? 1000 : 10_000)),
    ...wrong('n', Number.isInteger(n) && n >= 1 && n <= 6),
    ...wrong('size', size === undefined || sizesOf(model).includes(size)),
    ...wrong(
      'random_seed',
      Number.isInteger(body.random_seed ?? 0) && (body.random_seed ?? 0) >= 0,
    ),
    ...wrong('response_format', ['url', 'b64_json'].includes(body.response_format ?? 'url')),
    ...wrong('image_format', ['png', 'webp'].includes(body.image_format ?? 'png')),
    ...(model.isVector ? absent(['image_format']) : []),
    ...(isOld ? absent(['style_match']) : absent(['style', 'substyle', 'negative_prompt'])),
    ...(model.generation === 3 ? [] : absent(['text_layout'])),
    ...(model.generation === 4 && model.isFast ? absent(['style_id', 'style_match']) : []),
    ...wrong('style_id', body.style === undefined || body.style_id === undefined),
    ...wrong(
      'controls',
      model.generation === 3 || (controls.artistic_level ?? controls.no_text) === undefined,
    ),
    ...wrong('controls', colors.every(isColor)),
    ...wrong(
      'text_layout',
      texts.every(({ text = ' ', bbox }) => !/\s/.test(text) && bbox?.length === 4),
    ),
    ...wrong('image_url', !edits || (!model.isFast && isPictureUrl(body.image_url, 9_999_999))),
    ...wrong(
      'strength',
      !edits || (typeof strength === 'number' && strength >= 0 && strength <= 1),
    ),
  ]
}

function isColor({ rgb = [], weight = 0 }: Color): boolean {
  return rgb.length === 3 && rgb.every((one) => one >= 0 && one <= 255) && weight <= 1
}
