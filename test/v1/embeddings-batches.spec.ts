import { expect } from 'chai'
import { numbersOf } from '../support/embedding-vendors.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { ownProvider, quickLimits } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'
import {
  startUpstream,
  type ReceivedRequest,
  type ScriptedAnswer,
  type Upstream,
} from '../support/upstream.ts'

const model = 'alibaba/text-embedding-v4'
const small = 'first/small'
const nanoPerToken = 70
const tokensPerText = 3
const texts = (count: number) => Array.from({ length: count }, (_, index) => `text ${index}`)
const inputOf = ({ body }: ReceivedRequest) => (body as { input: string[] }).input

/** Vectors of eight numbers. */
function vectors(request: ReceivedRequest, length = 8): ScriptedAnswer {
  const input = inputOf(request)
  const data = input.map((text, index) => ({ index, embedding: [...numbersOf(text, length)] }))
  const tokens = input.length * tokensPerText
  return { body: { data, usage: { prompt_tokens: tokens, total_tokens: tokens } } }
}
const overloaded = { status: 503, body: { error: { message: 'Overloaded.' } } }

describe('embeddings of more texts than one call takes', () => {
  let first: Upstream
  let second: Upstream
  let shared: TestGateway
  let gateway: TestGateway
  before(async () => {
    first = await startUpstream()
    second = await startUpstream()
  })
  after(async () => {
    await first.stop()
    await second.stop()
  })
  // Each test needs a new gateway, because results of a route change the route order of later calls.
  before(async () => {
    shared = await startGateway({
      variables: { OWN_API_KEY: 'sk-own' },
      file: {
        providers: [ownProvider('first', first), ownProvider('second', second)],
        routes: { [model]: ['first', 'second'] },
        catalog: {
          [small]: {
            embedding: { dimensions: 8, inputs_per_call_max: 100, tokens_per_call_max: 60 },
          },
        },
        limits: quickLimits,
      },
    })
  })
  beforeEach(async () => {
    first.answer((request) => vectors(request))
    second.answer((request) => vectors(request))
    gateway = await shared.inNewAccount()
  })
  after(() => shared.stop())
  const ask = (input: string[], more: object = {}) =>
    gateway.post('/v1/embeddings', { model, input, ...more }, { key: gateway.liveKey })
  const expectVectors = async (response: Response, input: string[]) => {
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    const { data } = JSON.parse(text) as { data: { index: number; embedding: number[] }[] }
    expect(data.map(({ index }) => index)).to.deep.equal(input.map((_, index) => index))
    const read = data.map(({ embedding }) => Float32Array.from(embedding))
    expect(read).to.deep.equal(input.map((one) => numbersOf(one, 8)))
  }
  const sizes = ({ requests }: Upstream) =>
    requests.map((one) => inputOf(one).length).toSorted((a, b) => b - a)

  it('are made in several calls and joined in order, in one row at the exact price', async () => {
    const response = await ask(texts(25))
    await expectVectors(response, texts(25))
    expect(sizes(first)).to.deep.equal([10, 10, 5])
    expect(response.headers.get('x-gateway-attempts')).to.equal('first=ok, first=ok, first=ok')
    const rows = await gateway.usage()
    expect(rows).to.have.length(1)
    expect(rows[0]).to.include({
      input_tokens: 25 * tokensPerText,
      cost_nano_usd: 25 * tokensPerText * nanoPerToken,
      cost_status: 'exact',
    })
  })

  it('are split by tokens, where a call has a limit of tokens', async () => {
    // At most 60 tokens: each text has at most 6 bytes, and 16 tokens are added.
    await expectVectors(await ask(texts(5), { model: small }), texts(5))
    expect(sizes(first)).to.deep.equal([2, 2, 1])
    const long = `${'x'.repeat(100)} 1`
    first.answer((request) => vectors(request))
    await expectVectors(await ask([long, 'text 2'], { model: small }), [long, 'text 2'])
    expect(sizes(first)).to.deep.equal([1, 1])
  })

  it('fail over one call at a time', async () => {
    first.answer((request) =>
      inputOf(request).includes('text 15') ? overloaded : vectors(request),
    )
    const response = await ask(texts(25))
    await expectVectors(response, texts(25))
    expect(sizes(second)).to.deep.equal([10])
    const rows = await gateway.usage()
    expect(rows[0]).to.include({ outcome: 'ok', input_tokens: 25 * tokensPerText })
    expect(JSON.parse(rows[0]!.attempts)).to.have.length(4)
  })

  it('fail as a whole if one call fails, and the others are charged', async () => {
    for (const upstream of [first, second]) {
      upstream.answer((request) =>
        inputOf(request).includes('text 15') ? overloaded : vectors(request),
      )
    }
    await expectError(await ask(texts(20)), { status: 502, code: 'all_providers_failed' })
    const rows = await gateway.usage()
    expect(rows).to.have.length(1)
    expect(rows[0]).to.include({
      outcome: 'failed',
      cost_nano_usd: 10 * tokensPerText * nanoPerToken,
    })
  })

  it('fail if the calls give vectors of different lengths', async () => {
    for (const upstream of [first, second]) {
      upstream.answer((request) => vectors(request, inputOf(request).includes('text 15') ? 4 : 8))
    }
    const response = await ask(texts(20))
    expect(response.headers.get('x-gateway-attempts')).to.match(/malformed.*malformed/)
    await expectError(response, { status: 502, code: 'all_providers_failed' })
  })

  it('are made four calls at a time', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    first.answer((request) => ({ ...vectors(request), after: promise }))
    const answered = ask(texts(60))
    await until('four calls have begun', () => first.requests.length >= 4)
    // A fifth call would have begun before this answer.
    await (await gateway.fetch('/v1/models')).text()
    expect(first.requests).to.have.length(4)
    resolve()
    await expectVectors(await answered, texts(60))
    expect(sizes(first)).to.deep.equal([10, 10, 10, 10, 10, 10])
  })
})
