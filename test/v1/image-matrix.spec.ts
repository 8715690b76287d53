import { expect } from 'chai'
import { readCatalogRows, statusAt } from '../../src/catalog/catalog.ts'
import type { CatalogModel } from '../../src/core/model.ts'
import { startImageVendors, type ImagesBody, type ImageVendors } from '../support/image-vendors.ts'
import { look } from '../support/pictures.ts'
import { flatPng, pixel } from '../support/pixel.ts'

const models = readCatalogRows().filter(
  (row) => row.image !== undefined && statusAt(row, Date.now()) !== 'deactivated',
)
const prompt = 'A paper boat on a pond'

type Asked = Record<string, unknown> & { n?: number; size?: string; output_format?: string }

/** Each value of each option, alone and together with options that it depends on. */
const anywhere: Asked[] = [
  ...['auto', 'low', 'medium', 'high'].map((quality) => ({ quality })),
  ...['auto', 'opaque', 'transparent'].map((background) => ({ background })),
  { background: 'transparent', output_format: 'webp' },
  { background: 'transparent', output_format: 'jpeg' },
  ...['png', 'jpeg', 'webp', 'svg'].map((output_format) => ({ output_format })),
  { output_format: 'svg', n: 3, background: 'transparent' },
  { output_format: 'svg', output_compression: 40, size: '1000x1000' },
  { output_format: 'png', output_compression: 40 },
  { output_format: 'jpeg', output_compression: 40 },
  { output_format: 'webp', output_compression: 0 },
  { output_compression: 100 },
  ...['auto', 'low'].map((moderation) => ({ moderation })),
  { user: 'u-1', n: 3 },
  { stream: false, partial_images: 0, n: 10 },
]
const generations: Asked[] = [
  ...['auto', '1024x1024', '1536x1024', '1000x1000', '720x1280'].map((size) => ({ size })),
  ...['1x1', '9999x9999', '1600x400'].map((size) => ({ size })),
  ...['xhigh', 'max', 'standard', 'hd'].map((quality) => ({ quality })),
  ...['vivid', 'natural'].map((style) => ({ style })),
]
const edits: Asked[] = [
  ...['auto', '1024x1024', '1024x1536'].map((size) => ({ size })),
  ...['low', 'high'].map((input_fidelity) => ({ input_fidelity })),
]

/** The request bodies for a model, each with its path. */
function bodiesFor({
  image,
  capabilities,
  input_image_side_min: side,
}: CatalogModel): { path: string; asked: Asked }[] {
  const { reference_images_min: least, reference_images_max: most } = image!
  const image_url = side === undefined || side <= 16 ? pixel : flatPng(side)
  const inputs = (count: number) => Array.from({ length: count }, () => ({ image_url }))
  const make = capabilities.image_generation ? [...anywhere, ...generations] : []
  const change = most === 0 ? [] : [...(least > 0 ? anywhere : []), ...edits]
  return [
    ...make.map((asked) => ({ path: '/v1/images/generations', asked })),
    ...change.map((asked) => ({
      path: '/v1/images/edits',
      asked: { ...asked, images: inputs(1) },
    })),
    ...(most === 0 ? [] : [{ path: '/v1/images/edits', asked: { images: inputs(most) } }]),
    { path: '/v1/images/edits', asked: { images: inputs(Math.min(16, most + 1)) } },
  ]
}

/** Models with equal rows share the requests: each model gets some, and the group gets all requests. */
const alike = Map.groupBy(models, ({ provider, image, capabilities }) =>
  JSON.stringify([provider, image, capabilities]),
)
const shares = [...alike.values()].flatMap((group) =>
  group.map((row, index) => ({
    row,
    bodies: bodiesFor(row).filter((_, place) => place % group.length === index),
  })),
)

/** Default values of options. An option with its default value has no effect. */
const defaults: Asked = { quality: 'auto', background: 'auto', moderation: 'auto', style: 'vivid' }
/** Options that the gateway itself applies to pictures that it receives. */
const doneHere = new Set(['size', 'output_format', 'output_compression', 'n', 'images', 'stream'])
doneHere.add('partial_images').add('background')

describe('every image model sends the options that its vendor accepts and reports the result', () => {
  let vendors: ImageVendors
  before(async () => (vendors = await startImageVendors({ limits: { requests_per_minute: 1e6 } })))
  after(() => vendors.stop())

  for (const { row, bodies } of shares) {
    it(row.id, async () => {
      vendors.reset()
      const { calls } = vendors.doubles[row.provider as keyof ImageVendors['doubles']]
      const found: string[] = []
      for (const { path, asked } of bodies) {
        calls.length = 0
        const response = await vendors.post(path, { model: row.id, prompt, ...asked })
        const text = await response.text()
        const { images, ...shown } = asked
        const where = `${path} ${JSON.stringify({ ...shown, images: [images].flat().length })}`
        const complaints =
          response.status === 200
            ? await complaintsAbout(JSON.parse(text) as ImagesBody, asked, calls)
            : refusalComplaints(response.status, text, asked, calls.length)
        found.push(...complaints.map((complaint) => `${where}: ${complaint}`))
      }
      expect(found).to.deep.equal([])
    })
  }
})

function refusalComplaints(status: number, text: string, asked: Asked, calls: number): string[] {
  if (calls > 0) return [`the vendor refuses: ${text.slice(0, 300)}`]
  const { error } = JSON.parse(text) as { error: { param: string } }
  return status === 400 && error.param in asked ? [] : [`${status} ${text.slice(0, 300)}`]
}

async function complaintsAbout(
  answer: ImagesBody,
  asked: Asked,
  calls: readonly { body: unknown }[],
): Promise<string[]> {
  const { data, warnings = [], ...reported } = answer
  const { format, width, height } = await look(data[0]!.b64_json)
  const sent = JSON.stringify(calls.map(({ body }) => body))
  const warned = new Set(warnings.map(({ param }) => param))
  const silent = Object.entries(asked).filter(
    ([name, value]) =>
      !doneHere.has(name) &&
      defaults[name] !== value &&
      !sent.includes(`"${name}":${JSON.stringify(value)}`) &&
      !warned.has(name),
  )
  const wrong = (complaint: string, isWrong: boolean) => (isWrong ? [complaint] : [])
  const { n = 1, size = 'auto', output_format: wanted = format } = asked
  return [
    ...wrong(`${data.length} pictures`, data.length !== n),
    ...wrong(`says ${reported.output_format}, is ${format}`, reported.output_format !== format),
    ...wrong(
      `says ${reported.size}, is ${width}x${height}`,
      reported.size !== `${width}x${height}`,
    ),
    // A vector picture is not fitted to a size.
    ...wrong(`is ${reported.size}`, size !== 'auto' && reported.size !== size && format !== 'svg'),
    ...wrong(`is ${format}`, wanted !== format),
    ...silent.map(([name]) => `${name} is neither sent nor reported`),
    ...wrong(
      'warns of what was not asked',
      [...warned].some((name) => !(name in asked)),
    ),
  ]
}
