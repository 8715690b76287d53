import { expect } from 'chai'
import { paint } from '../../support/image-doubles/paint.ts'
import { expectError } from '../../support/expect-error.ts'
import { ownKey, startOwnEndpoint, type OwnEndpoint } from '../../support/own-endpoint.ts'

const prompt = 'A hat for the cat'
const model = 'own/painter'
const pictures = await Promise.all(
  (['png', 'jpeg', 'webp'] as const).map(async (format, number) => ({
    format,
    bytes: await paint({ width: 40, height: 30, format, number }),
  })),
)
const base64 = pictures[0]!.bytes.toString('base64')
const answer = { body: { created: 1, data: [{ b64_json: base64 }] } }

describe("pictures of an operator's own endpoint", () => {
  let own: OwnEndpoint
  // Makes several pictures with one call.
  const painters = {
    capabilities: { image_generation: true },
    image: {
      size: { kind: 'none' },
      native_format: 'png',
      images_per_call_max: 3,
      reference_images_min: 0,
      reference_images_max: 0,
    },
  }
  before(async () => {
    own = await startOwnEndpoint({ file: { catalog: { 'own/painters': painters } } })
  })
  after(() => own.stop())

  const ask = async (path: string, body: object): Promise<{ data: { b64_json: string }[] }> => {
    const headers = { 'cache-control': 'no-store' }
    const init = { key: own.gateway.liveKey, headers }
    const response = await own.gateway.post(path, { model, prompt, ...body }, init)
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    return JSON.parse(text) as { data: { b64_json: string }[] }
  }

  it('are requested with all of the caller’s parameters', async () => {
    own.upstream.answer(answer)
    const options = { size: '40x30', quality: 'hd', style: 'vivid', user: 'u-1' }
    await ask('/v1/images/generations', { ...options, background: 'opaque' })
    expect(own.upstream.requests[0]!.body).to.deep.equal({
      model: 'painter',
      prompt,
      ...options,
      background: 'opaque',
      response_format: 'b64_json',
    })
  })

  it('may be vectors, of which the type is not known before', async () => {
    const drawn = await paint({ width: 40, height: 30, format: 'svg', number: 1 })
    const svg = { body: { created: 1, data: [{ b64_json: drawn.toString('base64') }] } }
    own.upstream.answer(svg)
    const sized = { size: '64x64', model: 'own/vectors' }
    const made = await ask('/v1/images/generations', sized)
    expect(made).to.include({ output_format: 'svg', size: '40x30' })
    const reasons = JSON.stringify(made)
    expect(reasons).to.contain('was asked for 64x64 but made 40x30.')
    await ask('/v1/images/generations', { ...sized, output_format: 'svg' })
    expect(own.upstream.requests.at(-1)!.body).to.include({ output_format: 'svg' })
    // A format that was requested is never another one.
    for (const [output_format, body] of [
      ['png', svg],
      ['svg', answer],
    ] as const) {
      own.upstream.answer(body)
      const init = { key: own.gateway.liveKey }
      const asked = { model: 'own/vectors', prompt, output_format }
      const response = await own.gateway.post('/v1/images/generations', asked, init)
      await expectError(response, { status: 502, code: 'provider_error' })
    }
  })

  for (const count of [1, 3]) {
    it(`are edited as a form of ${count} files, as OpenAI's client sends it`, async () => {
      own.upstream.answer(answer)
      const images = pictures.slice(0, count).map(({ format, bytes }) => ({
        image_url: `data:image/${format};base64,${bytes.toString('base64')}`,
      }))
      await ask('/v1/images/edits', { images, size: '1024x1024', input_fidelity: 'high' })
      const [{ path, headers, bytes }] = own.upstream.requests as [
        (typeof own.upstream.requests)[0],
      ]
      expect(path).to.equal('/v1/images/edits')
      expect(headers.authorization).to.equal(`Bearer ${ownKey}`)
      const type = headers['content-type']!
      const form = await new Response(new Uint8Array(bytes), {
        headers: { 'content-type': type },
      }).formData()
      const texts = [...form].filter(([, value]) => typeof value === 'string')
      expect(Object.fromEntries(texts)).to.deep.equal({
        model: 'painter',
        prompt,
        size: '1024x1024',
        input_fidelity: 'high',
        response_format: 'b64_json',
      })
      const files = form.getAll(count === 1 ? 'image' : 'image[]') as File[]
      expect(files.map((file) => file.type)).to.deep.equal(
        pictures.slice(0, count).map(({ format }) => `image/${format}`),
      )
      for (const [index, file] of files.entries()) {
        expect(pictures[index]!.bytes.equals(Buffer.from(await file.arrayBuffer()))).to.equal(true)
      }
    })
  }

  it('are fetched without its key when it answers with a URL', async () => {
    own.upstream.answer(({ method }) =>
      method === 'GET'
        ? { body: pictures[1]!.bytes }
        : { body: { created: 1, data: [{ url: `${own.upstream.url}/files/1.jpg?sig=a` }] } },
    )
    const { data } = await ask('/v1/images/generations', {})
    expect(Buffer.from(data[0]!.b64_json, 'base64').equals(pictures[1]!.bytes)).to.equal(true)
    const [, fetched] = own.upstream.requests
    expect(fetched).to.include({ method: 'GET', path: '/files/1.jpg?sig=a' })
    expect(JSON.stringify(fetched!.headers)).to.not.include(ownKey)
  })

  const dataUrl = `data:image/png;base64,${base64}`
  const forms: [string, object][] = [
    ['with an empty URL', { url: '', b64_json: base64 }],
    ['with a URL that cannot be fetched', { url: 'https://127.0.0.1:9/a.png', b64_json: base64 }],
    ['as a data URL', { url: dataUrl }],
    ['as a data URL beside no base64', { url: dataUrl, b64_json: null }],
    ['as a data URL beside empty base64', { b64_json: '', url: dataUrl }],
    ['as a data URL in place of base64', { url: null, b64_json: dataUrl }],
    ['with null for a revised prompt', { b64_json: base64, revised_prompt: null }],
  ]
  for (const [name, item] of forms) {
    for (const isEscaped of [false, true]) {
      it(`are returned when they come ${name}${isEscaped ? ', with escaped slashes' : ''}`, async () => {
        const text = JSON.stringify({ created: 1, data: [item] })
        own.upstream.answer({ body: isEscaped ? text.replaceAll('/', '\\/') : text })
        const { data } = await ask('/v1/images/generations', {})
        expect(data).to.deep.equal([{ b64_json: base64 }])
        expect(own.upstream.requests).to.have.length(1)
      })
    }
  }

  it('are returned when the answer says that it succeeded', async () => {
    const said = { code: 0, message: 'success', detail: [], error: null }
    own.upstream.answer({ body: { ...said, created: 1, data: [{ b64_json: base64 }] } })
    const { data } = await ask('/v1/images/generations', {})
    expect(data).to.deep.equal([{ b64_json: base64 }])
  })

  it('are returned in order when each comes in another form', async () => {
    const [png, jpeg, webp] = pictures.map(({ bytes }) => bytes.toString('base64'))
    const items = [
      { url: `${own.upstream.url}/files/2.jpg`, b64_json: 'no picture' },
      { url: `data:image/png;base64,${png}` },
      { b64_json: webp, revised_prompt: 'A cat in a hat' },
    ]
    own.upstream.answer(({ method }) =>
      method === 'GET' ? { body: pictures[1]!.bytes } : { body: { created: 1, data: items } },
    )
    const { data } = await ask('/v1/images/generations', { model: 'own/painters', n: 3 })
    expect(data).to.deep.equal([
      { b64_json: jpeg },
      { b64_json: png },
      { b64_json: webp, revised_prompt: 'A cat in a hat' },
    ])
  })

  it('are a failure when no form holds a picture', async () => {
    const url = `data:text/plain;base64,${base64}`
    own.upstream.answer({ body: { code: 1, message: 'The painter is ill.', data: [] } })
    const refused = await own.gateway.post(
      '/v1/images/generations',
      { model, prompt },
      { key: own.gateway.liveKey },
    )
    expect(await refused.text()).to.contain('The painter is ill.')
    for (const item of [
      { url: '' },
      { b64_json: '' },
      { b64_json: null },
      {},
      { url },
      { url: '@0' },
    ]) {
      own.upstream.answer({ body: { created: 1, data: [item] } })
      const init = { key: own.gateway.liveKey, headers: { 'cache-control': 'no-store' } }
      const response = await own.gateway.post('/v1/images/generations', { model, prompt }, init)
      await expectError(response, { status: 502, code: 'provider_error' })
    }
  })
})
