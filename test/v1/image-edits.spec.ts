import { expect } from 'chai'
import OpenAI, { toFile } from 'openai'
import { expectError } from '../support/expect-error.ts'
import { openAiClient } from '../support/openai-client.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { pixel, pixelFile } from '../support/pixel.ts'

const prompt = 'All of these on one table'
const edits = '/v1/images/edits'

/** A picture of each format, each in a different colour. */
const painted = await Promise.all(
  (['png', 'jpeg', 'webp'] as const).map(async (format, number) => ({
    format,
    bytes: await paint({ width: 48, height: 32, format, number }),
  })),
)
const dataUrls = painted.map(
  ({ format, bytes }) => `data:image/${format};base64,${bytes.toString('base64')}`,
)

describe('image edits', () => {
  let vendors: ImageVendors
  let client: OpenAI
  before(async () => {
    vendors = await startImageVendors({ vendors: ['google', 'bytedance', 'openai'] })
    client = openAiClient(vendors.gateway, vendors.gateway.liveKey)
  })
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const wires = () => Object.values(vendors.doubles).flatMap(({ calls }) => calls)

  for (const model of ['bytedance/seedream-4-0', 'bytedance/seedream-4-5']) {
    for (const count of [2, 3, 6, 10]) {
      it(`merge ${count} reference pictures: ${model}`, async () => {
        const urls = Array.from({ length: count }, (_, index) => dataUrls[index % 3]!)
        const images = urls.map((url) => ({ image_url: url }))
        await vendors.images({ model, images, prompt })
        const { image } = wires()[0]!.body as { image: string[] }
        expect(image).to.deep.equal(urls)
      })
    }
  }

  const clients = [
    { model: 'gpt-image-2', options: { quality: 'low', size: '1536x1024', n: 2 } },
    {
      model: 'gpt-image-1.5',
      options: {
        background: 'transparent',
        input_fidelity: 'high',
        output_format: 'webp',
        output_compression: 20,
      },
    },
    { model: 'gemini-3-pro-image-preview', options: { n: 2 } },
    { model: 'bytedance/seedream-4-5', options: { size: '1024x1024', output_format: 'png' } },
  ] as const
  for (const { model, options } of clients) {
    for (const count of [1, 3]) {
      it(`give the same result as JSON and from OpenAI's client with ${count} files: ${model}`, async () => {
        const files = await Promise.all(
          painted.slice(0, count).map(({ format, bytes }) => toFile(bytes, `in.${format}`)),
        )
        const image = count === 1 ? files[0]! : files
        const fromClient = await client.images.edit({ model, image, prompt, ...options })
        const sent = wires().map(({ bytes }) => bytes.toString())
        vendors.reset()
        const images = dataUrls.slice(0, count).map((url) => ({ image_url: url }))
        const fromJson = await vendors.images({ model, images, prompt, ...options })
        expect(wires().map(({ bytes }) => bytes.toString())).to.deep.equal(sent)
        expect(withoutDate(fromClient)).to.deep.equal(withoutDate(fromJson))
        expect(fromJson.data).to.have.length('n' in options ? options.n : 1)
      })
    }
  }

  it('accept auto as the default model, and null for fields that OpenAI clients leave unset', async () => {
    const images = [{ image_url: pixel }]
    const nulls = { size: null, quality: null, background: null, output_format: null }
    await vendors.images({ images, prompt, ...nulls })
    expect(vendors.doubles.google.calls).to.have.length(1)
  })

  it("refuse OpenAI's mask as unsupported, in JSON and in a form", async () => {
    const images = [{ image_url: pixel }]
    const json = await vendors.post(edits, { images, prompt, mask: { image_url: pixel } })
    expect(json.status).to.equal(400)
    expect(((await json.json()) as { error: object }).error).to.include({ param: 'mask' })
    const asked = { model: 'gpt-image-2', image: pixelFile, mask: pixelFile, prompt }
    const refused = await client.images.edit(asked).catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(OpenAI.BadRequestError).that.includes({ param: 'mask' })
    expect(wires()).to.deep.equal([])
  })

  it('name what to send instead of a mask, in JSON and in a form', async () => {
    const code = 'unknown_parameter'
    const instead =
      "'mask' belongs to edits of a part, which chats have: send it as `image_config.mask`"
    const { gateway } = vendors
    const key = gateway.liveKey
    const images = [{ image_url: pixel }]
    const json = await vendors.post(edits, { images, prompt, mask: { image_url: pixel } })
    const inJson = await expectError(json, { status: 400, code, param: 'mask' })
    expect(inJson.message).to.include(`'mask' is not a parameter here. ${instead}`)
    const body = new FormData()
    for (const name of ['image', 'mask']) body.append(name, pixelFile)
    body.append('prompt', prompt)
    const form = await gateway.fetch(edits, { method: 'POST', body, key })
    const inForm = await expectError(form, { status: 400, code, param: 'mask' })
    expect(inForm.message).to.include(`'mask' is not a field of this form. ${instead}`)
  })

  it('read files that are counted in the order of their numbers', async () => {
    const body = new FormData()
    body.append('prompt', prompt)
    body.append('model', 'bytedance/seedream-4-5')
    for (const at of [2, 0, 1]) {
      const { bytes, format } = painted[at]!
      body.append(`image[${at}]`, new File([new Uint8Array(bytes)], `a.${format}`))
    }
    const { gateway } = vendors
    const response = await gateway.fetch(edits, { method: 'POST', body, key: gateway.liveKey })
    expect(response.status, await response.text()).to.equal(200)
    expect((wires()[0]!.body as { image: string[] }).image).to.deep.equal(dataUrls)
  })

  const file = (name = 'image'): [string, File] => [name, pixelFile]
  const forms: {
    name: string
    fields: [string, string | File][]
    param: string
    says?: string
  }[] = [
    {
      name: 'without a picture',
      fields: [['prompt', prompt]],
      param: 'image',
      says: "'image' is required: send each picture as a file",
    },
    {
      name: 'with a file for the prompt',
      fields: [file(), file('prompt')],
      param: 'prompt',
      says: "pictures named 'image'",
    },
    {
      name: 'with a file of another name',
      fields: [file('picture'), ['prompt', prompt]],
      param: 'picture',
      says: "pictures named 'image'",
    },
    {
      name: 'with an unknown field',
      fields: [file(), ['prompt', prompt], ['steps', '4']],
      param: 'steps',
      says: "'steps' is not a field of this form. Remove it, or use one of: image, prompt, model",
    },
    {
      name: 'with URLs as the response format',
      fields: [file(), ['prompt', prompt], ['response_format', 'url']],
      param: 'response_format',
      says: 'must be b64_json',
    },
    { name: 'without a prompt', fields: [file()], param: 'prompt' },
    {
      name: 'with a text for a picture',
      fields: [
        ['image', 'x'],
        ['prompt', prompt],
      ],
      param: 'image',
    },
    {
      name: 'with an empty file',
      fields: [
        ['image', new File([], 'a.png')],
        ['prompt', prompt],
      ],
      param: 'image',
    },
    {
      name: 'with a text file called PNG as the second one',
      fields: [file('image[]'), ['image[]', new File(['hello'], 'a.png')], ['prompt', prompt]],
      param: 'image[1]',
      says: 'Send a file that is a PNG, JPEG or WebP.',
    },
    {
      name: 'with 17 files',
      fields: [...Array.from({ length: 17 }, () => file('image[]')), ['prompt', prompt]],
      param: 'image',
      says: "'image' must have at most 16 files.",
    },
    {
      name: 'with two prompts',
      fields: [file(), ['prompt', 'a'], ['prompt', 'b']],
      param: 'prompt',
    },
    { name: 'with a word for n', fields: [file(), ['prompt', prompt], ['n', 'two']], param: 'n' },
    { name: 'with n too large', fields: [file(), ['prompt', prompt], ['n', '11']], param: 'n' },
    {
      name: 'with a field that is unknown',
      fields: [file(), ['prompt', prompt], ['frame_count', '4']],
      param: 'frame_count',
    },
  ]
  for (const { name, fields, param, says = '' } of forms) {
    it(`as a form ${name} are refused with the name of the field`, async () => {
      const body = new FormData()
      for (const [field, value] of fields) body.append(field, value)
      const { gateway } = vendors
      const init = { method: 'POST', body, key: gateway.liveKey }
      const response = await gateway.fetch(edits, init)
      const text = await response.text()
      expect(response.status, text).to.equal(400)
      const { error } = JSON.parse(text) as { error: { message: string } }
      expect(error).to.include({ param })
      expect(error.message).to.include(says).and.not.include('image_url":')
      expect(wires()).to.deep.equal([])
    })
  }

  it('with a body that is not a form are refused', async () => {
    const { gateway } = vendors
    const response = await gateway.fetch(edits, {
      method: 'POST',
      body: '--x\r\nnot a form',
      key: gateway.liveKey,
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    })
    await expectError(response, { status: 400, code: 'invalid_value' })
  })
})

function withoutDate(answer: object): object {
  return { ...answer, created: 0 }
}
