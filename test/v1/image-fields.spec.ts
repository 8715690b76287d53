import { expect } from 'chai'
import { readEvents } from '../support/event-stream.ts'
import { startImageVendors, type ImagesBody, type ImageVendors } from '../support/image-vendors.ts'
import { editFields, generationFields } from '../support/openai-image-fields.ts'
import { pixel } from '../support/pixel.ts'

/**
 * How a property is handled: sent by its name, translated to the vendor's format, applied by the
 * gateway to the vendor's picture, dropped with a warning, or refused by its name.
 */
type Handling = 'sent' | 'mapped' | 'done here' | 'warned' | 'refused'

const models = {
  google: 'gemini-3-pro-image-preview',
  alibaba: 'alibaba/qwen-image-3.0',
  zai: 'zai/glm-image',
  bytedance: 'bytedance/seedream-4-5',
  openai: 'gpt-image-1.5',
  xai: 'xai/grok-imagine-image-2.0',
  together: 'together/flux',
  bfl: 'bfl/flux-2-pro',
} as const
type Vendor = keyof typeof models

type Row = Record<Vendor, Handling>
const all = (handling: Handling): Row => ({
  google: handling,
  alibaba: handling,
  zai: handling,
  bytedance: handling,
  openai: handling,
  xai: handling,
  together: handling,
  bfl: handling,
})
const refused = all('refused')

const shared: Record<keyof typeof generationFields & keyof typeof editFields, Row> = {
  background: { ...refused, openai: 'sent' },
  // Only GPT Image 2.6 has it, whose requests the spec of the vendor checks.
  complexity: all('warned'),
  frame_count: refused,
  frame_duration_ms: refused,
  moderation: { ...all('warned'), openai: 'sent' },
  n: { ...all('done here'), alibaba: 'mapped', openai: 'sent', xai: 'sent' },
  output_compression: all('warned'),
  output_format: { ...all('done here'), openai: 'sent' },
  // Without `stream`, as here; `streamed-pictures.spec.ts` has streams.
  partial_images: refused,
  quality: { ...all('warned'), zai: 'refused', openai: 'sent', xai: 'sent' },
  response_format: refused,
  safety_identifier: { ...all('warned'), openai: 'sent' },
  size: {
    google: 'mapped',
    alibaba: 'mapped',
    zai: 'sent',
    bytedance: 'warned',
    openai: 'sent',
    xai: 'warned',
    together: 'mapped',
    bfl: 'mapped',
  },
  stream: all('done here'),
  user: { ...all('warned'), openai: 'sent', xai: 'sent' },
}
const ofGenerations: Record<keyof typeof generationFields, Row> = {
  ...shared,
  style: all('warned'),
  svg: refused,
}
const ofEdits: Record<keyof typeof editFields, Row> = {
  ...shared,
  input_fidelity: { ...all('warned'), openai: 'sent' },
  markup: refused,
  mask: refused,
}

describe("the handling of each of OpenAI's image properties", () => {
  let vendors: ImageVendors
  before(async () => (vendors = await startImageVendors()))
  after(() => vendors.stop())

  async function ask(path: string, vendor: Vendor, more: object) {
    vendors.reset()
    const body = { model: models[vendor], prompt: 'a hat', ...more }
    const response = await vendors.post(path, body)
    const wires = vendors.doubles[vendor].calls.map((call) => call.body)
    const text = await response.text()
    const isStream = response.headers.get('content-type')!.startsWith('text/event-stream')
    const answer = JSON.parse(isStream ? readEvents(text).at(-1)!.data! : text) as ImagesBody & {
      error?: { param: string }
    }
    return { answer, wires }
  }

  async function handlingOf(
    path: string,
    vendor: Vendor,
    name: string,
    more: object,
  ): Promise<Handling> {
    const { [name as never]: value, ...base } = more as Record<string, unknown>
    const plain = await ask(path, vendor, base)
    const { answer, wires } = await ask(path, vendor, more)
    if (answer.error !== undefined) {
      expect(answer.error.param).to.equal(name)
      expect(wires).to.deep.equal([])
      return 'refused'
    }
    if ((answer.warnings ?? []).some(({ param }) => param === name)) return 'warned'
    const [wire] = wires as Record<string, unknown>[]
    if (wire![name] !== undefined) {
      expect(wire![name]).to.deep.equal(value)
      return 'sent'
    }
    const asBefore = JSON.stringify(wire) === JSON.stringify(plain.wires[0])
    return asBefore ? 'done here' : 'mapped'
  }

  const tables = [
    { path: '/v1/images/generations', fields: generationFields, expected: ofGenerations, more: {} },
    {
      path: '/v1/images/edits',
      fields: editFields,
      expected: ofEdits,
      more: { images: [{ image_url: pixel }] },
    },
  ]
  for (const { path, fields, expected, more } of tables) {
    for (const [name, value] of Object.entries(fields)) {
      it(`${path}: ${name}`, async () => {
        const fates: Partial<Row> = {}
        const wanted: Partial<Row> = { ...expected[name as keyof typeof expected] }
        for (const vendor of Object.keys(models) as Vendor[]) {
          // Z.AI's models do not edit pictures.
          if (vendor === 'zai' && 'images' in more) delete wanted.zai
          else fates[vendor] = await handlingOf(path, vendor, name, { ...more, [name]: value })
        }
        expect(fates).to.deep.equal(wanted)
      })
    }
  }
})
