import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import OpenAI from 'openai'
import { checkedFetch } from '../support/checked-fetch.ts'
import { expectError } from '../support/expect-error.ts'
import { imageEventsIn, namesOf, type ImageEvent } from '../support/image-events.ts'
import type { ImageDouble } from '../support/image-doubles/double.ts'
import { numberIn, paint } from '../support/image-doubles/paint.ts'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { pixel, pixelFile } from '../support/pixel.ts'
import { look, noisePng } from '../support/pictures.ts'
import { until } from '../support/until.ts'

const model = 'gpt-image-1.5'
const prompt = 'a fox'
const generations = '/v1/images/generations'
const edits = '/v1/images/edits'
const asked = { model, prompt, stream: true, partial_images: 2 }

describe('streamed pictures', () => {
  let vendors: ImageVendors
  let openai: ImageDouble
  let client: OpenAI
  before(async () => {
    vendors = await startImageVendors({ vendors: ['openai', 'alibaba', 'bytedance'] })
    openai = vendors.doubles.openai
    const { url, liveKey: apiKey } = vendors.gateway
    const defaultHeaders = { 'cache-control': 'no-store' }
    const options = { baseURL: `${url}/v1`, apiKey, defaultHeaders, maxRetries: 0 }
    client = new OpenAI({ ...options, fetch: checkedFetch })
  })
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const stream = async (body: object, path = generations, headers = {}) => {
    const response = await vendors.post(path, body, { headers })
    const text = await response.text()
    expect(response.status, text.slice(0, 1000)).to.equal(200)
    expect(response.headers.get('content-type')).to.match(/^text\/event-stream/)
    return imageEventsIn(text)
  }

  it("are read by OpenAI's client: partial images, then the picture with its usage and cost", async () => {
    const events = []
    for await (const event of await client.images.generate({ ...asked, stream: true })) {
      events.push(event)
    }
    expect(events.map(({ type }) => type)).to.deep.equal([
      'image_generation.partial_image',
      'image_generation.partial_image',
      'image_generation.completed',
    ])
    const last = events.at(-1) as unknown as ImageEvent
    expect(last).to.deep.include({ size: '1024x1024', quality: 'medium', output_format: 'png' })
    expect(last.usage).to.include({ input_tokens: 20, output_tokens: 1200, cost: 0.0385 })
    expect(await numberIn(Buffer.from(last.b64_json, 'base64'))).to.equal(0)
    const wires = openai.calls.map(({ body }) => body)
    expect(wires).to.deep.equal([{ model, prompt, stream: true, partial_images: 2 }])
  })

  it('are read as edits, of JSON and of a form', async () => {
    const image = await OpenAI.toFile(pixelFile, 'a.png', { type: 'image/png' })
    const names = []
    for await (const event of await client.images.edit({ ...asked, stream: true, image })) {
      names.push(event.type)
    }
    const partials = ['image_edit.partial_image', 'image_edit.partial_image']
    expect(names).to.deep.equal([...partials, 'image_edit.completed'])
    const events = await stream({ ...asked, images: [{ image_url: pixel }] }, edits)
    expect(events.map(({ type }) => type)).to.deep.equal(names)
  })

  it('have the usage of all pictures in the last event, and zeros before it', async () => {
    const events = await stream({ ...asked, n: 3 })
    expect(namesOf(events).toSorted()).to.deep.equal([
      ...[0, 1, 2].map((place) => `completed ${place}`),
      ...[0, 1, 2].flatMap((place) => [`partial ${place}/0`, `partial ${place}/1`]),
    ])
    const usages = events.flatMap(({ usage }) => usage ?? [])
    expect(usages.map((one) => one.total_tokens)).to.deep.equal([0, 0, 3660])
    expect(usages.map(({ cost }) => cost)).to.deep.equal([undefined, undefined, 0.1155])
    expect(openai.calls.map(({ body }) => (body as { n?: number }).n)).to.deep.equal(
      Array.from({ length: 3 }, () => undefined),
    )
  })

  it('are sent as soon as each is finished', async () => {
    const held = Promise.withResolvers<void>()
    const base64 = (await paint({ width: 64, height: 64, format: 'png', number: 7 })).toString(
      'base64',
    )
    const whole = { body: { created: 1, data: [{ b64_json: base64 }] } }
    const { bytedance } = vendors.doubles
    bytedance.play(whole, whole, { ...whole, after: held.promise })
    const body = { model: 'bytedance/seedream-4-0', prompt, n: 3, stream: true }
    const response = await vendors.post(generations, body)
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    const read = async () => void (text += (await reader.read()).value ?? '')
    // The last of the finished pictures waits, since it may be the last of all.
    while (!text.includes('.completed') || !text.endsWith('\n\n')) await read()
    expect(namesOf(imageEventsIn(text))).to.have.lengthOf(1)
    held.resolve()
    for (let length = -1; length !== text.length;) {
      length = text.length
      await read()
    }
    expect(namesOf(imageEventsIn(text)).toSorted()).to.deep.equal(
      [0, 1, 2].map((place) => `completed ${place}`),
    )
  })

  it('need no partial images, and the vendor is then asked as without a stream', async () => {
    for (const more of [{}, { partial_images: 0 }]) {
      vendors.reset()
      const events = await stream({ model, prompt, stream: true, n: 2, ...more })
      expect(namesOf(events)).to.deep.equal(['completed 0', 'completed 1'])
      expect(openai.calls.map(({ body }) => body)).to.deep.equal([{ model, prompt, n: 2 }])
    }
  })

  it('come from every model; one that makes no partial images reports it', async () => {
    const body = { ...asked, model: 'alibaba/qwen-image-3.0' }
    const events = await stream(body)
    expect(namesOf(events)).to.deep.equal(['completed 0'])
    expect(events[0]!.warnings).to.deep.equal([
      {
        param: 'partial_images',
        requested: 2,
        applied: null,
        reason: 'alibaba/qwen-image-3.0 makes no partial images.',
      },
    ])
    const strict = { 'x-gateway-strict': 'true' }
    const refused = await vendors.post(generations, body, { headers: strict })
    await expectError(refused, {
      status: 400,
      code: 'unsupported_parameter',
      param: 'partial_images',
    })
    const { partial_images: _, ...plain } = body
    expect(namesOf(await stream(plain, generations, strict))).to.deep.equal(['completed 0'])
  })

  it('are converted as pictures without a stream, and partial images are sent unchanged', async () => {
    const shape = { size: '600x400', output_format: 'webp', output_compression: 40 }
    const events = await stream({ ...asked, ...shape })
    const seen = await Promise.all(events.map(({ b64_json: base64 }) => look(base64)))
    expect(events.map(({ size, output_format: format }) => `${size} ${format}`)).to.deep.equal(
      seen.map(({ width, height, format }) => `${width}x${height} ${format}`),
    )
    expect(seen[2]).to.deep.equal({ format: 'webp', width: 600, height: 400 })
    expect(events[0]!.size).to.equal('1536x1024')
    expect(events[2]!.warnings?.map(({ param }) => param)).to.deep.equal(['size'])
  })

  it('are answered from the cache and for identical calls without partial images', async () => {
    const cached = { 'cache-control': 'max-age=60' }
    const body = { ...asked, prompt: 'a cached fox' }
    const plain = { model, prompt: body.prompt }
    const [first, second] = [stream(body, generations, cached), stream(body, generations, cached)]
    const both = [namesOf(await first), namesOf(await second)]
    expect(both)
      .to.deep.include(['completed 0'])
      .and.to.deep.include(['partial 0/0', 'partial 0/1', 'completed 0'])
    const hit = await stream(body, generations, cached)
    expect(namesOf(hit)).to.deep.equal(['completed 0'])
    expect(hit[0]!.usage).to.include({ cost: 0, output_tokens: 1200 })
    const answer = await vendors.post(generations, plain, { headers: cached })
    expect(answer.headers.get('x-gateway-cache')).to.equal('hit')
    expect(openai.calls).to.have.lengthOf(1)
  })

  it('are replayed whole for an idempotency key', async () => {
    const headers = { 'idempotency-key': 'fox-1' }
    const body = { ...asked, n: 2 }
    const first = await stream(body, generations, headers)
    const again = await stream(body, generations, headers)
    expect(namesOf(again)).to.deep.equal(['completed 0', 'completed 1'])
    expect(again).to.deep.equal(first.filter(({ type }) => type.endsWith('.completed')))
    expect(openai.calls).to.have.lengthOf(2)
  })

  it('are completed and charged once if the client leaves after a partial image', async () => {
    const held = Promise.withResolvers<void>()
    const events = await eventTexts()
    openai.play({ pieces: pausing(events, held.promise) })
    const leaving = new AbortController()
    const body = { ...asked, prompt: 'an abandoned fox' }
    const headers = { 'cache-control': 'max-age=60' }
    const response = await vendors.post(generations, body, { signal: leaving.signal, headers })
    const reader = response.body!.getReader()
    await reader.read()
    leaving.abort()
    await reader.closed.catch(() => undefined)
    held.resolve()
    const rows = vendors.gateway.db
      .selectFrom('usage')
      .select(['outcome', 'output_tokens'])
      .where('id', '=', response.headers.get('x-request-id')!)
    await until('the row is written', async () => (await rows.execute()).length === 1)
    expect(await rows.execute()).to.deep.equal([{ outcome: 'ok', output_tokens: 1200 }])
    expect(namesOf(await stream(body, generations, headers))).to.deep.equal(['completed 0'])
    expect(openai.calls).to.have.lengthOf(1)
  })

  it('may have lines of several megabytes', async () => {
    const large = (await noisePng(1100, 1100)).toString('base64')
    openai.play({ pieces: await eventTexts(large) })
    const events = await stream(asked)
    // The second partial image is left out if the client has not read the first.
    expect(namesOf(events)).to.include.members(['partial 0/0', 'completed 0'])
    for (const { b64_json: base64 } of events) expect(base64 === large).to.equal(true)
  })

  it('end at the time limit of images, also if the vendor sends pings', async () => {
    const limits = { image_timeout_ms: 300 }
    const impatient = await startImageVendors({ vendors: ['openai'], limits })
    try {
      impatient.doubles.openai.play({ pieces: pings() })
      const response = await impatient.post(generations, asked)
      await expectError(response, { status: 504, code: 'timeout' })
    } finally {
      await impatient.stop()
    }
  })

  it('are no job, even if the client prefers one', async () => {
    const events = await stream(asked, generations, { prefer: 'respond-async' })
    expect(namesOf(events)).to.deep.equal(['partial 0/0', 'partial 0/1', 'completed 0'])
  })

  const refusals: [what: string, more: object, param: string][] = [
    ['four partial images', { partial_images: 4 }, 'partial_images'],
    ['a negative number of them', { partial_images: -1 }, 'partial_images'],
    ['half of one', { partial_images: 0.5 }, 'partial_images'],
    ['their number as text', { partial_images: '2' }, 'partial_images'],
    ['partial images without a stream', { stream: false }, 'partial_images'],
    ['a stream as text', { stream: 'true' }, 'stream'],
  ]
  for (const [what, more, param] of refusals) {
    it(`are refused with ${what}, before a vendor is asked`, async () => {
      for (const [path, images] of [
        [generations, {}],
        [edits, { images: [{ image_url: pixel }] }],
      ] as const) {
        const response = await vendors.post(path, { ...asked, ...images, ...more })
        await expectError(response, { status: 400, code: 'invalid_value', param })
      }
      expect(openai.calls).to.deep.equal([])
    })
  }

  it('have the price of their partial images in a quote', async () => {
    const amountOf = async (more: object) => {
      const request = { model, prompt, n: 2, ...more }
      const response = await vendors.post('/v1/prices', { operation: 'createImage', request })
      const { routes } = (await response.json()) as { routes: { amount: { usd: string } }[] }
      return Number(routes[0]!.amount.usd)
    }
    const [plain, none, three] = [
      await amountOf({}),
      await amountOf({ stream: true }),
      await amountOf({ stream: true, partial_images: 3 }),
    ]
    expect(none).to.equal(plain)
    // 2 pictures, 3 partial images of 100 tokens each, at $32 a million.
    expect(three - plain).to.be.closeTo(2 * 3 * 100 * 32e-6, 1e-9)
  })

  /** The events of a picture with two partial images, as texts. */
  async function eventTexts(base64?: string): Promise<string[]> {
    const painted = await paint({ width: 64, height: 64, format: 'png', number: 3 })
    const b64_json = base64 ?? painted.toString('base64')
    const event = (name: string, more: object) =>
      `event: ${name}\ndata: ${JSON.stringify({ type: name, b64_json, ...more })}\n\n`
    const usage = { input_tokens: 20, output_tokens: 1200, total_tokens: 1220 }
    return [
      event('image_generation.partial_image', { partial_image_index: 0 }),
      event('image_generation.partial_image', { partial_image_index: 1 }),
      event('image_generation.completed', { usage }),
    ]
  }
})

async function* pings(): AsyncGenerator<string> {
  for (let count = 0; count < 1000; count++) {
    yield ': ping\n\n'
    await sleep(20)
  }
}

/** The pieces, of which all but the first wait. */
async function* pausing(pieces: readonly string[], after: Promise<void>): AsyncGenerator<string> {
  for (const [index, piece] of pieces.entries()) {
    if (index === 1) await after
    yield piece
  }
}
