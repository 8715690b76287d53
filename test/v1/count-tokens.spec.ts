import { expect } from 'chai'
import type OpenAI from 'openai'
import { anthropicClient } from '../support/anthropic-client.ts'
import { expectError } from '../support/expect-error.ts'
import { openAiClient } from '../support/openai-client.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { answerWith, reference } from '../support/stored-responses.ts'

const model = 'own/house-1'
const path = '/v1/responses/input_tokens'
const sentence = 'The quick brown fox jumps over the lazy dog. '

describe('counting the tokens of a request', () => {
  let own: OwnEndpoint
  let client: OpenAI
  before(async () => {
    own = await startOwnEndpoint({ limits: { requests_per_minute: 100_000 } })
    client = openAiClient(own.gateway, own.gateway.liveKey)
  })
  after(() => own.stop())
  beforeEach(() => answerWith(own))

  const counted = async (body: OpenAI.Responses.InputTokenCountParams) => {
    const { object, input_tokens } = await client.responses.inputTokens.count({ model, ...body })
    expect(object).to.equal('response.input_tokens')
    return input_tokens
  }
  const post = (body: object, key = own.gateway.liveKey) =>
    own.gateway.post(path, { model, input: sentence, ...body }, { key })

  it('of a response gives rather too many, and calls no vendor', async () => {
    const before = (await own.gateway.usage()).length
    // A tokenizer of OpenAI counts 1001 tokens.
    const plain = await counted({ input: sentence.repeat(100) })
    expect(plain).to.be.within(1001, 1600)
    const parameters = { type: 'object', properties: { place: { type: 'string' } } }
    const tools = [{ type: 'function' as const, name: 'look', parameters, strict: false }]
    expect(await counted({ input: sentence.repeat(100), tools })).to.be.greaterThan(plain + 10)
    const instructions = sentence.repeat(100)
    expect(await counted({ input: sentence, instructions })).to.be.greaterThan(1001)
    expect(own.upstream.requests).to.deep.equal([])
    expect(await own.gateway.usage()).to.have.length(before)
  })

  it('of a response includes the items that it refers to, of the same account', async () => {
    const input = sentence.repeat(100)
    const { id, output } = await client.responses.create({ model, input })
    expect(await counted({ input: 'And then?', previous_response_id: id })).to.be.greaterThan(1001)
    const { data } = await client.responses.inputItems.list(id)
    const first = reference(data[0]!.id)
    expect(await counted({ input: [first] })).to.be.greaterThan(1001)
    const stranger = await own.gateway.createKey('live', {
      accountId: await own.gateway.createAccount(),
    })
    const notFound = { status: 404, code: 'not_found' }
    const chained = await post({ previous_response_id: id }, stranger)
    await expectError(chained, { ...notFound, param: 'previous_response_id' })
    const referred = await post({ input: [reference(output[0]!.id!)] }, stranger)
    await expectError(referred, { ...notFound, param: 'input[0].id' })
  })

  it('of a response is refused like the call itself', async () => {
    const narrow = await own.gateway.createKey('live', { models: ['gpt-5'] })
    await expectError(await post({}, narrow), { status: 403, code: 'model_not_allowed' })
    const restricted = await own.gateway.createKey('live', { models: [model] })
    const fallback = await post({ models: ['own/house-2'] }, restricted)
    await expectError(fallback, { status: 403, code: 'model_not_allowed' })
    const refused = { status: 400, code: 'unsupported_parameter', param: 'conversation' }
    await expectError(await post({ conversation: 'conv_1' }), refused)
    const unknown = { status: 404, code: 'model_not_found', param: 'model' }
    await expectError(await post({ model: 'no-such-model' }), unknown)
    const get = await own.gateway.fetch(path, { key: own.gateway.liveKey })
    expect(get.status).to.equal(405)
  })

  it('counts as a request of the key', async () => {
    const key = await own.gateway.createKey('live')
    await own.gateway.allow({ requests_per_minute: 2 }, key)
    expect((await post({}, key)).status).to.equal(200)
    const messages = [{ role: 'user' as const, content: 'Hello.' }]
    const count = () => anthropicClient(own.gateway, key).messages.countTokens({ model, messages })
    expect((await count()).input_tokens).to.be.greaterThan(1)
    const tooMany = await post({}, key)
    expect(tooMany.headers.get('x-ratelimit-limit-requests')).to.equal('2')
    await expectError(tooMany, { status: 429, code: 'rate_limit_exceeded' })
    const refused: unknown = await count().catch((error: unknown) => error)
    expect(refused).to.include({ status: 429 })
  })
})
