import { expect } from 'chai'
import OpenAI, { toFile } from 'openai'
import { completion } from '../support/chat-answers.ts'
import { checkedFetch } from '../support/checked-fetch.ts'
import { hello, ownKey, ownProvider } from '../support/own-endpoint.ts'
import { startImageVendors, type ImageVendors, type VendorName } from '../support/image-vendors.ts'
import { startUpstream, type ScriptedAnswer, type Upstream } from '../support/upstream.ts'
import { pixel, pixelFile } from '../support/pixel.ts'

const page = (status: number, title: string): ScriptedAnswer => ({
  status,
  headers: { 'content-type': 'text/html', server: 'cloudflare' },
  body: `<html><head><title>${status}: ${title}</title></head><body>cloudflare</body></html>`,
})

/** Answers of proxies while the server after them may be working. */
const proxies: [name: string, answer: ScriptedAnswer][] = [
  ['a page with 408', page(408, 'Request Time-out')],
  ['a page with 502', page(502, 'Bad gateway')],
  ['a page with 504', page(504, 'Gateway time-out')],
  ['a page with 520', page(520, 'Web server is returning an unknown error')],
  ['a page with 521', page(521, 'Web server is down')],
  ['a page with 522', page(522, 'Connection timed out')],
  ['a page with 523', page(523, 'Origin is unreachable')],
  ['a page with 524', page(524, 'A timeout occurred')],
  ['an empty 502', { status: 502 }],
  ['plain text', { status: 504, body: 'upstream request timeout' }],
  ['a message in JSON', { status: 504, body: { message: 'Endpoint request timed out' } }],
  [
    'the name of the status in JSON',
    {
      status: 504,
      body: { status: 504, error: 'Gateway Timeout', path: '/v1/images/generations' },
    },
  ],
  [
    'a number as code in JSON',
    { status: 502, body: { status: 'error', code: 502, message: 'No.' } },
  ],
  [
    'a problem in JSON',
    {
      status: 524,
      headers: { 'content-type': 'application/problem+json' },
      body: {
        type: 'https://example.com/524',
        title: 'Error 524',
        status: 524,
        detail: 'Timed out.',
      },
    },
  ],
  [
    'an error without a message',
    { status: 504, body: { error: { type: 'origin_gateway_timeout', retryable: true } } },
  ],
  ['a vendor’s error that is cut short', { status: 502, body: '{"error":{"message":"The serv' }],
]

/** Errors in the form of vendors, which say that the request failed. */
const vendorsOwn: [name: string, answer: ScriptedAnswer][] = [
  [
    'OpenAI',
    { status: 502, body: { error: { message: 'Bad.', type: 'server_error', code: null } } },
  ],
  ['OpenAI at 504', { status: 504, body: { error: { message: 'Late.', type: 'timeout_error' } } }],
  ['Google', { status: 504, body: { error: { code: 504, message: 'Late.', status: 'LATE' } } }],
  ['Google in a list', { status: 502, body: [{ error: { code: 502, message: 'Bad.' } }] }],
  ['xAI', { status: 502, body: { code: 'Service unavailable', error: 'Bad.' } }],
  ['Model Studio', { status: 504, body: { code: 'RequestTimeOut', message: 'Late.' } }],
  ['Mistral', { status: 502, body: { object: 'error', message: 'Bad.', code: null } }],
  ['a proxy at 503, which it did not pass on', page(503, 'Service unavailable')],
]

const picture = { body: { data: [{ b64_json: pixel.slice(pixel.indexOf(',') + 1) }] } }
const priced = { pricing: { per_image: [{ usd: 0.04 }] } }

describe('an answer that a proxy may have written after the request was sent', () => {
  let vendors: ImageVendors
  let own: Upstream
  let second: Upstream
  before(async () => {
    own = await startUpstream()
    second = await startUpstream()
    vendors = await startImageVendors({
      vendors: [
        'openai',
        'google',
        'alibaba',
        'zai',
        'bytedance',
        'xai',
        'together',
        'recraft',
        'ideogram',
        'bfl',
        'fal',
      ],
      variables: { OWN_API_KEY: ownKey },
      // The gateway's own default: one retry of each route.
      limits: { route_tries_max: 2 },
      bounds: { retryDelayMs: 1 },
      file: {
        providers: [ownProvider('own', own), ownProvider('second', second)],
        routes: { 'zai/cogview-4': ['own/painter', 'second/painter'] },
        catalog: { 'zai/cogview-4': priced },
      },
    })
  })
  beforeEach(() => {
    vendors.reset()
    own.answer({ status: 500 })
    second.answer(picture)
  })
  after(async () => {
    await vendors.stop()
    await own.stop()
    await second.stop()
  })

  /** OpenAI's client with its default retries. */
  const client = () =>
    new OpenAI({
      baseURL: `${vendors.gateway.url}/v1`,
      apiKey: vendors.gateway.liveKey,
      defaultHeaders: { 'cache-control': 'no-store' },
      fetch: checkedFetch,
    })
  const lastRow = async () => (await vendors.gateway.usage()).at(-1)!
  const unknown = { outcome: 'unknown', cost_nano_usd: null, cost_status: 'unknown' }
  const failureOf = async (
    asked: Promise<unknown>,
  ): Promise<InstanceType<typeof OpenAI.APIError>> => {
    const failure = await asked.then(
      () => undefined,
      (error: unknown) => error,
    )
    if (!(failure instanceof OpenAI.APIError)) throw new Error('The call has not failed.')
    return failure
  }

  for (const [name, answer] of proxies) {
    it(`does not buy a picture again: ${name}`, async () => {
      own.answer(answer)
      const asked = client().images.generate({ model: 'zai/cogview-4', prompt: 'a fox' })
      const { status, headers, message } = await failureOf(asked)
      expect([own.requests.length, second.requests.length]).to.deep.equal([1, 0])
      expect(status).to.be.oneOf([502, 504])
      expect(headers?.get('x-should-retry')).to.equal('false')
      expect(message).to.match(/may have been made and charged/)
      expect(message).not.to.match(/<html|cloudflare/)
      expect(await lastRow()).to.include(unknown)
    })
  }

  const models: Record<VendorName, string> = {
    openai: 'gpt-image-2',
    google: 'gemini-3-pro-image-preview',
    alibaba: 'alibaba/qwen-image-plus',
    zai: 'zai/glm-image',
    bytedance: 'bytedance/seedream-4-5',
    xai: 'xai/grok-imagine-image-2.0',
    together: 'together/black-forest-labs/FLUX.2-pro',
    recraft: 'recraft/recraftv4_1_vector',
    ideogram: 'ideogram/ideogram-4-5',
    bfl: 'bfl/flux-2-pro',
    fal: 'fal/fal-ai/flux/schnell',
  }
  for (const vendor of Object.keys(models) as VendorName[]) {
    it(`does not buy a picture again from ${vendor}`, async () => {
      const double = vendors.doubles[vendor]
      double.play(page(524, 'A timeout occurred'))
      await failureOf(client().images.generate({ model: models[vendor], prompt: 'a fox' }))
      expect(double.calls).to.have.length(1)
      expect(await lastRow()).to.include(unknown)
    })
  }

  it('does not buy an edited picture, a picture in a chat or one of several again', async () => {
    const model = 'zai/cogview-4'
    const file = await toFile(pixelFile, 'a.png', { type: 'image/png' })
    const double = vendors.doubles.openai
    double.play(page(520, 'Unknown'))
    await failureOf(client().images.edit({ model: 'gpt-image-2', image: file, prompt: 'a fox' }))
    expect(double.calls).to.have.length(1)
    own.answer(page(502, 'Bad gateway'))
    await failureOf(client().chat.completions.create({ model, messages: hello }))
    expect(own.requests).to.have.length(1)
    own.answer((_request, index) => (index === 1 ? page(504, 'Late') : picture))
    await failureOf(client().images.generate({ model, prompt: 'a fox', n: 2 }))
    expect([own.requests.length, second.requests.length]).to.deep.equal([2, 0])
  })

  it('buys a picture again for a caller who allows it', async () => {
    own.answer(page(524, 'A timeout occurred'))
    const headers = { 'x-gateway-allow-repeat': 'true' }
    const response = await vendors.post(
      '/v1/images/generations',
      { model: 'zai/cogview-4', prompt: 'a fox' },
      { headers },
    )
    expect(response.headers.get('x-gateway-attempts')).to.equal('own=timeout, second=ok')
  })

  for (const [name, answer] of vendorsOwn) {
    it(`moves to the next route after the error of ${name}`, async () => {
      own.answer(answer)
      const asked = { model: 'zai/cogview-4', prompt: 'a fox' }
      const { data } = await client().images.generate(asked)
      expect(data).to.have.length(1)
      expect([own.requests.length, second.requests.length]).to.deep.equal([1, 1])
      expect(await lastRow()).to.include({ outcome: 'ok', cost_nano_usd: 40_000_000 })
    })
  }

  it('leaves the cost of a chat, a stream and embeddings unknown, which other routes may answer', async () => {
    own.answer(page(502, 'Bad gateway'))
    const post = (path: string, body: object) =>
      vendors.post(path, { model: 'own/writer', ...body })
    const failing = [
      await post('/v1/chat/completions', { messages: hello }),
      await post('/v1/chat/completions', { messages: hello, stream: true }),
      await post('/v1/embeddings', { input: 'hello' }),
    ]
    expect(failing.map(({ status }) => status)).to.deep.equal([502, 502, 502])
    const rows = (await vendors.gateway.usage()).slice(-3)
    for (const row of rows) expect(row).to.include({ ...unknown, outcome: 'failed' })
    second.answer(completion('Hi.'))
    const models = ['second/writer']
    const answered = await post('/v1/chat/completions', { messages: hello, models })
    expect(answered.status, await answered.clone().text()).to.equal(200)
  })
})
