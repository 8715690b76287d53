import { expect } from 'chai'
import type OpenAI from 'openai'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openAiClient } from '../support/openai-client.ts'
import { startOwnEndpoint } from '../support/own-endpoint.ts'
import { pixel } from '../support/pixel.ts'
import { allowOnly, Refused, vendorDouble } from '../support/spoken.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

const path = '/v1/moderations'
const standard = 'omni-moderation-latest'
const [first, second] = ['sk-proj-first-0123456789', 'sk-proj-second-0123456789']
const invalid = 'invalid_request_error'
const categories = ['harassment', 'illicit', 'self-harm/intent', 'violence']

type Part = { type: string; text?: string; image_url?: { url: string } }
type Input = string | string[] | Part[]

const result = (text: string) => ({
  flagged: text.includes('hurt'),
  categories: Object.fromEntries(categories.map((one) => [one, text.includes('hurt')])),
  category_scores: Object.fromEntries(categories.map((one) => [one, 0.25])),
  category_applied_input_types: Object.fromEntries(categories.map((one) => [one, ['text']])),
})
const resultsOf = (input: Input): object[] => {
  if (typeof input === 'string') return [result(input)]
  if (typeof input[0] === 'string') return (input as string[]).map(result)
  return [result((input as Part[]).map(({ text = '' }) => text).join(' '))]
}

/** Simulates OpenAI: refuses what it refuses, and flags texts with `hurt`. */
const openAi = vendorDouble({
  check: ({ path: asked, headers, body }) => {
    if (asked !== '/moderations') throw new Refused(404, 'not_found', asked)
    if (headers.authorization === `Bearer ${first}`) {
      throw new Refused(401, 'invalid_api_key', 'Incorrect API key provided.')
    }
    if (headers.authorization !== `Bearer ${second}`) throw new Refused(401, invalid, 'No key.')
    allowOnly(body, ['model', 'input'], 'Unrecognized request argument', invalid)
    if (body['model'] !== 'omni-moderation-latest') throw new Refused(404, 'model', 'No model.')
    const input = body['input'] as Input
    if (typeof input === 'string' || typeof input[0] === 'string') return
    for (const part of input as Part[]) {
      const isText = part.type === 'text'
      allowOnly(part, ['type', isText ? 'text' : 'image_url'], 'input', invalid)
      if (!isText) allowOnly(part.image_url, ['url'], 'input', invalid)
    }
    if ((input as Part[]).filter(({ type }) => type === 'image_url').length > 1) {
      throw new Refused(400, invalid, 'Only one image is supported.')
    }
  },
  refusal: ({ type, message }) => ({
    error: { message, type: invalid, param: 'input', code: type },
  }),
  answer: ({ body }) => {
    const { input } = body as { input: Input }
    return {
      body: { id: 'modr-7', model: 'omni-moderation-2024-09-26', results: resultsOf(input) },
    }
  },
})

describe('POST /v1/moderations', () => {
  let upstream: Upstream
  let gateway: TestGateway
  let client: OpenAI
  before(async () => {
    upstream = await startUpstream()
    gateway = await startGateway({
      variables: { OPENAI_API_KEY: `${first},${second}`, OPENAI_BASE_URL: upstream.url },
    })
    client = openAiClient(gateway, gateway.liveKey)
  })
  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })
  beforeEach(() => {
    upstream.requests.length = 0
    upstream.answer(openAi)
  })
  const sent = () =>
    upstream.requests.filter(({ method }) => method === 'POST').map(({ body }) => body)
  const post = (body: object, key = gateway.liveKey) =>
    gateway.post(path, body, { key, headers: { 'cache-control': 'no-store' } })

  it('classifies a text, with the standard model and a usable key, free of charge', async () => {
    const { id, model, results } = await client.moderations.create({ input: 'I will hurt you.' })
    expect(id).to.match(/^modr-/)
    expect(model).to.equal('omni-moderation-latest')
    expect(results).to.deep.equal([result('I will hurt you.')])
    const asked = { model: 'omni-moderation-latest', input: 'I will hurt you.' }
    expect(sent().at(-1)).to.deep.equal(asked)
    const row = (await gateway.usage()).at(-1)!
    expect(row).to.include({ face: 'moderations', modality: 'moderation', model })
    expect(row).to.include({ outcome: 'ok', cost_nano_usd: 0, cost_status: 'exact' })
    expect(row).to.include({ served_model: 'omni-moderation-2024-09-26' })
    expect(await (await gateway.fetch('/metrics', { key: gateway.adminKey })).text()).to.match(
      /gateway_calls_total\{face="moderations",modality="moderation"/,
    )
  })

  it('classifies each text of a list, and all parts together', async () => {
    const texts = ['A fox.', 'It will hurt.']
    const list = await client.moderations.create({ model: 'omni-moderation-latest', input: texts })
    expect(list.results.map(({ flagged }) => flagged)).to.deep.equal([false, true])
    const parts = [
      { type: 'text' as const, text: 'It will hurt.' },
      { type: 'image_url' as const, image_url: { url: pixel } },
    ]
    const one = await client.moderations.create({ input: parts })
    expect(one.results).to.have.length(1)
    expect(sent().at(-1)).to.deep.include({ input: parts })
  })

  it('tells what the vendor refuses, and refuses another answer', async () => {
    const image = { type: 'image_url', image_url: { url: pixel } }
    const refusal = await expectError(await post({ input: [image, image] }), {
      status: 400,
      code: 'invalid_value',
    })
    expect(refusal.message).to.include('Only one image is supported.')
    const whole = result('A fox.')
    for (const results of [
      [],
      [whole, whole],
      [{ ...whole, flagged: 'no' }],
      [{ ...whole, categories: { violence: 'no' } }],
      [{ ...whole, category_scores: undefined }],
      [{ ...whole, category_applied_input_types: { violence: 'text' } }],
    ]) {
      upstream.answer({ body: { id: 'modr-7', model: 'omni', results } })
      await expectError(await post({ input: 'A fox.' }), { status: 502, code: 'provider_error' })
    }
  })

  it('is refused for another model, an unusable key, and beyond the limits', async () => {
    const wrong = { status: 400, code: 'model_capability_mismatch', param: 'model' }
    const other = await post({ model: 'gpt-5-mini', input: 'A fox.' })
    expect((await expectError(other, wrong)).message).to.include('not a moderation model')
    const chat = { model: 'omni-moderation-latest', messages: [{ role: 'user', content: 'Hi.' }] }
    const talked = await gateway.post('/v1/chat/completions', chat, { key: gateway.liveKey })
    await expectError(talked, wrong)
    const retired = await post({ model: 'text-moderation-stable', input: 'A fox.' })
    expect(await retired.json()).to.have.nested.property('warnings[0].applied', standard)
    const narrow = await gateway.createKey('live', { models: ['gpt-5-mini'] })
    await expectError(await post({ input: 'A fox.' }, narrow), {
      status: 403,
      code: 'model_not_allowed',
    })
    const limited = await gateway.createKey('live')
    await gateway.allow({ requests_per_minute: 1 }, limited)
    expect((await post({ input: 'A fox.' }, limited)).status).to.equal(200)
    const refused = { status: 429, code: 'rate_limit_exceeded' }
    await expectError(await post({ input: 'A fox.' }, limited), refused)
    await expectError(await post({ input: ['A fox.', 7] }), { status: 400, code: 'invalid_value' })
    await expectError(await post({ input: 'A fox.', user: 'ada' }), {
      status: 400,
      code: 'unknown_parameter',
      param: 'user',
    })
  })

  it('answers test keys in the sandbox, which flags a text for the categories that it names', async () => {
    const { results } = await openAiClient(gateway).moderations.create({
      input: ['Words of hate.', 'A fox.'],
    })
    expect(results.map(({ flagged }) => flagged)).to.deep.equal([true, false])
    expect(results[0]!.categories).to.include({ hate: true, violence: false })
    expect(sent()).to.deep.equal([])
  })

  it('names the setting of the key if OpenAI is not configured', async () => {
    const bare = await startGateway()
    const refused = await bare.post(path, { input: 'A fox.' }, { key: bare.liveKey })
    const { message } = await expectError(refused, { status: 503, code: 'no_provider_configured' })
    expect(message).to.include('OPENAI_API_KEY')
    await bare.stop()
  })

  it('are made by own endpoints too, without a price', async () => {
    await using own = await startOwnEndpoint()
    own.upstream.answer({ body: { results: [result('It will hurt.')] } })
    const asked = { model: 'own/guard', input: 'It will hurt.' }
    const response = await own.gateway.post(path, asked, { key: own.gateway.liveKey })
    const { results } = (await response.json()) as { results: { flagged: boolean }[] }
    expect(results.map(({ flagged }) => flagged)).to.deep.equal([true])
    expect(own.upstream.requests.at(-1)!.body).to.deep.equal({ ...asked, model: 'guard' })
    expect((await own.gateway.usage()).at(-1)).to.include({ cost_status: 'unknown' })
  })
})
