import { expect } from 'chai'
import { paint } from '../../support/image-doubles/paint.ts'
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
  before(async () => (own = await startOwnEndpoint()))
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
})
