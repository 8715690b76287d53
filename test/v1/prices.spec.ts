import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { pixel } from '../support/pixel.ts'
import {
  expectEditsCharged,
  expectImagesCharged,
  paths,
  quotesOf,
  type Priced,
  type Quote,
} from './price-quotes.ts'

type Schemas = components['schemas']
/** Of different prices: by picture, by size and by token. */
const imageModels = new Set(['alibaba/qwen-image-2.0', 'xai/grok-imagine-image-2.0', 'gpt-image-2'])
const prompt = 'A lighthouse'
const messages = [{ role: 'user', content: 'Tell me of lighthouses.' }]

describe('the price of a call before it is made', () => {
  let gateway: TestGateway
  let models: Schemas['Model'][]
  before(async () => {
    gateway = await startGateway()
    const response = await gateway.fetch('/v1/models')
    models = ((await response.json()) as Schemas['ModelList']).data
  })
  after(() => gateway.stop())

  const { ask, quoteOf, expectCharged } = quotesOf(() => gateway)
  const some = () => models.filter(({ id }) => imageModels.has(id))

  it('is the charge in the ledger, by size, quality and count of pictures', async () => {
    const kinds = await expectImagesCharged(gateway, some())
    expect(kinds).to.have.all.keys('exact', 'at_most')
  })

  it('is the charge in the ledger for edits, by the number of pictures', () =>
    expectEditsCharged(gateway, some()))

  it('is twice the price where the sources of the price disagree, pictures and searches included', async () => {
    const nanoOf = async (operation: Priced, request: object) => {
      const { routes } = await quoteOf(operation, request)
      expect(routes[0]).to.include({ kind: 'at_most' })
      return routes[0]!.amount!.nano_usd
    }
    const flash = { model: 'bytedance/seedream-5-0-flash', prompt, n: 3 }
    expect(await nanoOf('createImage', flash)).to.equal(2 * 3 * 27_000_000)
    // The price of gpt-5.6-sol is doubtful; an operator who sets a price knows it.
    const { pricing } = models.find(({ id }) => id === 'gpt-5.6-sol')!
    await using known = await startGateway({ file: { catalog: { 'gpt-5.6-sol': { pricing } } } })
    for (const more of [{}, { service_tier: 'priority' }, { web_search_options: {} }]) {
      const request = { model: 'gpt-5.6-sol', messages, max_completion_tokens: 100, ...more }
      const priced = await known.post('/v1/prices', { operation: 'createChatCompletion', request })
      const { routes } = (await priced.json()) as Quote
      const doubtful = await nanoOf('createChatCompletion', request)
      expect(doubtful, JSON.stringify(more)).to.equal(2 * routes[0]!.amount!.nano_usd)
    }
  })

  it('is an upper bound for a conversation, and exact for pictures in a conversation', async () => {
    for (const model of ['gpt-5-mini', 'claude-haiku-4-5', 'deepseek-chat']) {
      if (!models.some(({ id, aliases }) => id === model || aliases?.includes(model))) continue
      const kind = await expectCharged('createChatCompletion', { model, messages })
      expect(kind).to.equal('at_most')
      const response = { model, input: 'Tell me of lighthouses.', max_output_tokens: 500 }
      expect(await expectCharged('createResponse', response)).to.equal('at_most')
      const message = { model, messages, max_tokens: 500 }
      expect(await expectCharged('createMessage', message)).to.equal('at_most')
    }
    for (const [model, image_size, kind] of [
      ['bytedance/seedream-4-0', '1024x1024', 'exact'],
      ['gemini-3-pro-image', '2K', 'at_most'],
    ]) {
      const drawn = { model, messages, image_config: { image_size } }
      expect(await expectCharged('createChatCompletion', drawn), model).to.equal(kind)
    }
  })

  it('has the warnings of the other chat APIs in their words', async () => {
    const input = 'Tell me of lighthouses.'
    const text = { format: { type: 'json_object' as const } }
    const response = { model: 'claude-haiku-4-5', input, text, colour: 'red' }
    const quote = await quoteOf('createResponse', response)
    expect(quote.warnings.map(({ param }) => param)).to.include('colour')
    const message = { model: 'gpt-5-mini', messages, max_tokens: 500, stop_sequences: ['end'] }
    const { routes } = await quoteOf('createMessage', message)
    expect(routes[0]!.warnings.map(({ param }) => param)).to.deep.equal(['stop_sequences'])
  })

  it('counts the conversation before a response', async () => {
    const model = 'gpt-5-mini'
    const first = { model, input: 'Tell me of lighthouses. '.repeat(50) }
    const answer = await gateway.post('/v1/responses', first)
    const { id } = (await answer.json()) as { id: string }
    const next = { model, input: 'And of ships.', max_output_tokens: 100 }
    const costOf = async (request: object) =>
      (await quoteOf('createResponse', request)).routes[0]!.amount!.nano_usd
    const alone = await costOf(next)
    expect(await costOf({ ...next, previous_response_id: id })).to.be.greaterThan(alone)
    const stranger = { ...next, previous_response_id: 'resp_unknown' }
    await expectError(await ask('createResponse', stranger), {
      status: 404,
      code: 'not_found',
      param: 'previous_response_id',
    })
  })

  it('lists each route in the order of the tries, and whether it is charged', async () => {
    const request = { model: 'alibaba/qwen-image-plus', prompt, n: 2 }
    const test = await quoteOf('createImage', request)
    expect(test).to.include({ object: 'price_quote', is_charged: false })
    expect(test.routes.map(({ model }) => model)).to.deep.equal(['alibaba/qwen-image-plus'])
    const [{ lines, kind }] = test.routes as [Schemas['RouteQuote']]
    expect(kind).to.equal('exact')
    expect(lines).to.have.length(1)
    expect(lines![0]).to.include({ what: 'images', units: 2 })
    const more = { ...request, models: ['alibaba/qwen-image-plus', 'zai/cogview-4'] }
    const both = await quoteOf('createImage', more)
    expect(both.routes.at(-1)!.model).to.equal('zai/cogview-4')
  })

  it('is refused like the call itself, without a request to a provider', async () => {
    const calls: [Priced, object][] = [
      ['createImage', { prompt, model: 'no-such-model' }],
      ['createImage', { prompt, model: 'alibaba/qwen-image-plus', size: '9000x9000' }],
      ['createImage', { prompt, model: 'gpt-image-2', quality: 'finest' }],
      ['createImage', { model: 'gpt-image-2' }],
      ['createImage', { prompt, model: 'gpt-5-mini' }],
      ['createImageEdit', { prompt, model: 'zai/cogview-4', images: [{ image_url: pixel }] }],
      ['createImageEdit', { prompt, model: 'gpt-image-2' }],
      ['createChatCompletion', { model: 'gpt-5-mini', messages, temperature: 9 }],
      ['createChatCompletion', { model: 'gpt-5-mini', messages: [] }],
      [
        'createChatCompletion',
        { model: 'gemini-3-pro-image', messages, image_config: { image_size: '9K' } },
      ],
      ['createResponse', { model: 'gpt-5-mini', input: [] }],
      ['createResponse', { model: 'gpt-5-mini', input: 'Hello.', conversation: 'conv_1' }],
      ['createResponse', { model: 'gpt-5-mini', input: 'Hello.', max_output_tokens: 10 ** 9 }],
      ['createResponse', { model: 'gpt-image-2', input: 'Hello.' }],
    ]
    for (const [operation, request] of calls) {
      const call = await gateway.post(paths[operation], request)
      const { error } = (await call.json()) as Schemas['ErrorResponse']
      expect(call.status, JSON.stringify(request)).to.be.within(400, 404)
      const { status } = call
      const expected = { status, code: error.code!, param: error.param }
      const refused = await expectError(await ask(operation, request), expected)
      expect(refused.message).to.equal(error.message)
    }
    const message = { model: 'gpt-image-2', messages, max_tokens: 10 }
    const call = await gateway.post(paths.createMessage, message)
    const { error } = (await call.json()) as Schemas['MessageErrorResponse']
    const same = { status: call.status, code: 'model_capability_mismatch', param: 'model' } as const
    const refused = await expectError(await ask('createMessage', message), same)
    expect(error.message).to.equal(`model: ${refused.message}`)
    const before = (await gateway.usage()).length
    await quoteOf('createImage', { prompt, model: 'gpt-image-2' })
    expect(await gateway.usage()).to.have.length(before)
  })

  it('is refused for another operation and for a request that is not an object', async () => {
    const post = (body: object) => gateway.post('/v1/prices', body)
    const refused = { status: 400, code: 'invalid_value' }
    const other = { operation: 'listModels', request: {} }
    await expectError(await post(other), { ...refused, param: 'operation' })
    const text = { operation: 'createImage', request: 'a lighthouse' }
    await expectError(await post(text), { ...refused, param: 'request' })
  })
})
