import { expect } from 'chai'
import { base64Of } from '../support/embedding-vendors.ts'
import { expectError } from '../support/expect-error.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'

const item = (index: unknown, embedding: unknown) => ({ object: 'embedding', index, embedding })
const list = (...data: object[]) => ({
  body: { object: 'list', data, model: 'house', usage: { prompt_tokens: 8, total_tokens: 8 } },
})
const one = [1, 0, 0]
const two = [0, 1, 0]
const base64 = (...numbers: number[]) => base64Of(Float32Array.from(numbers))

describe('an answer of an embedding model', () => {
  let own: OwnEndpoint
  before(async () => {
    const pricing = { input_per_million_tokens: 0.5 }
    const embedding = { dimensions: 3, inputs_per_call_max: 32 }
    own = await startOwnEndpoint({ file: { catalog: { 'own/house': { embedding, pricing } } } })
  })
  after(() => own.stop())
  const ask = (more: object = {}, model = 'own/house') =>
    own.gateway.post(
      '/v1/embeddings',
      { model, input: ['a fox', 'a lighthouse'], ...more },
      { key: own.gateway.liveKey, headers: { 'cache-control': 'no-store' } },
    )
  const vectorsOf = async (response: Response) => {
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    const { data } = JSON.parse(text) as { data: { embedding: number[] }[] }
    return data.map(({ embedding }) => embedding)
  }

  for (const { name, answer } of [
    { name: 'as numbers', answer: list(item(0, one), item(1, two)) },
    { name: 'as base64', answer: list(item(0, base64(...one)), item(1, base64(...two))) },
    { name: 'in another order', answer: list(item(1, two), item(0, one)) },
    { name: 'without an index', answer: list({ embedding: one }, { embedding: two }) },
  ]) {
    it(`is delivered if its vectors come ${name}`, async () => {
      own.upstream.answer(answer)
      expect(await vectorsOf(await ask())).to.deep.equal([one, two])
    })
  }

  const malformed: Record<string, { body: object | string }> = {
    'skips an index': list(item(0, one), item(2, two)),
    'has an index twice': list(item(0, one), item(0, two)),
    'has too few vectors': list(item(0, one)),
    'has too many vectors': list(item(0, one), item(1, two), item(2, two)),
    'has an index that is text': list(item('0', one), item('1', two)),
    'has vectors of different lengths': list(item(0, one), item(1, [0, 1])),
    'has empty vectors': list(item(0, []), item(1, [])),
    'has a vector that is null': list(item(0, one), item(1, null)),
    'has a number that is null': list(item(0, one), item(1, [0, null, 0])),
    'has a number that is text': list(item(0, one), item(1, [0, '1', 0])),
    'has a number beyond 32 bits': list(item(0, one), item(1, [0, 1e39, 0])),
    'has a number that is not finite, in base64': list(item(0, one), item(1, base64(0, NaN, 0))),
    'has base64 of half a number': list(item(0, one), item(1, 'AAAAAAAA')),
    'has base64 that is none': list(item(0, one), item(1, '****')),
    'has the word NaN': { body: '{"data":[{"index":0,"embedding":[NaN]}]}' },
    'has no data': { body: { object: 'list' } },
    'is no JSON': { body: '<html></html>' },
    'is empty': { body: '' },
  }
  for (const [name, answer] of Object.entries(malformed)) {
    it(`is refused if it ${name}`, async () => {
      own.upstream.answer(answer)
      const response = await ask()
      expect(response.headers.get('x-gateway-attempts')).to.equal('own=malformed')
      await expectError(response, { status: 502, code: 'provider_error' })
      const row = (await own.gateway.usage()).at(-1)!
      expect(row).to.include({ outcome: 'failed', modality: 'embedding', face: 'embeddings' })
    })
  }

  it('is charged although it cannot be delivered, if it reports its tokens', async () => {
    own.upstream.answer(malformed['has too few vectors']!)
    await expectError(await ask(), { status: 502, code: 'provider_error' })
    expect((await own.gateway.usage()).at(-1)!.cost_nano_usd).to.equal(8 * 500)
  })

  it('is refused as the caller’s mistake if a server ignores `dimensions`', async () => {
    own.upstream.answer(list(item(0, one), item(1, two)))
    const response = await ask({ dimensions: 2 }, 'own/unknown')
    expect(own.upstream.requests[0]!.body).to.include({ dimensions: 2 })
    const error = await expectError(response, {
      status: 400,
      code: 'unsupported_parameter',
      param: 'dimensions',
    })
    expect(error.message).to.contain('3 dimensions, not of 2')
  })

  it('is refused if all vectors together are too large', async () => {
    const vector = Buffer.alloc(4 * 300_000).toString('base64')
    own.upstream.answer(({ body }) => {
      const { input } = body as { input: string[] }
      return list(...input.map((_, index) => item(index, vector)))
    })
    const error = await expectError(await ask({ input: Array(32).fill('a fox') }), {
      status: 413,
      code: 'request_too_large',
    })
    expect(error.message).to.contain('Send fewer texts')
  })

  it('that reports an error in a 200 is that error', async () => {
    own.upstream.answer({
      body: { error: { message: 'Too long.', type: 'invalid_request_error' } },
    })
    const error = await expectError(await ask(), { status: 400, code: 'invalid_value' })
    expect(error.message).to.contain('Too long.')
  })
})
