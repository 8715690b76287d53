import { expect } from 'chai'
import {
  alternatives,
  bodySchema,
  contract,
  operation,
  resolve,
  type Schema,
} from '../support/contract.ts'
import type { TestGateway } from '../support/gateway.ts'
import { flatPng, pixel, pixelFile } from '../support/pixel.ts'
import {
  byMember,
  describeBounds,
  expectHeld,
  expectTextHeld,
  messages,
  read,
  startPatientGateway,
  type Send,
} from './bounds.ts'
import { imageConfigs, type Subject } from './image-configs.ts'

// A small size, since the sandbox paints each picture.
const subjects: Subject[] = [
  {
    id: 'createImage',
    base: { prompt: 'a fox', size: '1024x640' },
    models: ['gpt-image-2.6-sunburst', 'zai/cogview-4'],
  },
  {
    id: 'createImageEdit',
    base: { prompt: 'a fox', images: [{ image_url: flatPng(256) }] },
    models: ['gpt-image-2.6-sunburst', 'recraft/recraftv4_1_vector'],
  },
]

const formSchema = resolve(
  operation('createImageEdit').requestBody!.content['multipart/form-data']!.schema,
)

describe('the bounds of the contract for images', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startPatientGateway()
  })
  after(() => gateway.stop())

  for (const subject of subjects) describeBounds(subject, () => gateway)

  describe('of the form of createImageEdit', () => {
    const { properties = {} } = formSchema
    const lists = new Set(['image', 'image[]', 'models', 'models[]'])
    const inJson = bodySchema(operation('createImageEdit'))!.properties!
    const boundsOf = (one: Schema) =>
      alternatives(one).map((schema) => ({ ...schema, description: undefined }))
    for (const [name, schema] of Object.entries(properties)) {
      if (lists.has(name)) continue
      it(`are those of the body in JSON for ${name}`, () =>
        expect(boundsOf(schema)).to.deep.equal(boundsOf(inJson[name]!)))

      if (name === 'prompt') continue
      it(`hold for ${name}`, () =>
        // Each accepted value is sent in JSON.
        expectTextHeld({ name, schema }, (value) => postForm([[name, value]]), { passingMax: 1 }))
    }

    for (const name of lists) {
      it(`hold for ${name}`, async () => {
        const isImage = name.startsWith('image')
        const { minItems = 1, maxItems } = listOf(name)
        const send = (count: number) => {
          const values = Array<string | File>(count).fill(isImage ? pixelFile : 'gpt-image-2')
          return postForm(
            values.map((value) => [name, value]),
            isImage ? 0 : 1,
          )
        }
        for (const count of [minItems, maxItems!]) {
          expect((await read(await send(count))).status).to.equal(200)
        }
        for (const count of isImage ? [minItems - 1, maxItems! + 1] : [maxItems! + 1]) {
          const { status, error } = await read(await send(count))
          expect(status).to.equal(400)
          expect(error.param).to.match(isImage ? /^images?$/ : /^models$/)
        }
      })
    }

    /** The schema of a form field: an array, because a form may repeat a field. */
    function listOf(name: string): Schema {
      return alternatives(properties[name]!).find(({ type }) => type === 'array')!
    }

    function postForm(fields: [string, string | File][], images = 1): Promise<Response> {
      const body = new FormData()
      const given = new Map([
        ['model', 'gpt-image-2.6-sunburst'],
        ['prompt', 'a fox'],
      ])
      for (const [name] of fields) given.delete(name)
      for (const [name, value] of [...given, ...fields]) body.append(name, value)
      for (let count = 0; count < images; count++) body.append('image', pixelFile)
      return gateway.fetch('/v1/images/edits', { method: 'POST', body })
    }
  })

  for (const { id, base, models, edits } of imageConfigs) {
    describe(`of ${id} in a chat`, () => {
      const schema = contract.components.schemas[id]!
      for (const [name, probes] of byMember(schema, base, models)) {
        // A mask is a picture; `test/v1/masks.spec.ts` has its refusals.
        if (name === 'mask') continue
        const send: Send = (image_config, model = models[0]) =>
          gateway.post('/v1/chat/completions', {
            model,
            messages: edits ? withPicture : messages,
            image_config,
          })
        const placed = probes.map((probe) => ({ ...probe, at: `.image_config${probe.at}` }))
        it(`hold for ${name}`, () => expectHeld(placed, send, models))
      }
    })
  }
})

const withPicture = [
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Make the fox red' },
      { type: 'image_url', image_url: { url: pixel } },
    ],
  },
]
