import { expect } from 'chai'
import type OpenAI from 'openai'
import {
  base64Of,
  embeddingVariables,
  embeddingVendors,
  numbersOf,
  tokensOf,
} from '../support/embedding-vendors.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openAiClient } from '../support/openai-client.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

type Subject = {
  model: string
  length: number
  /** Absent for a model without a price. */
  nanoPerToken?: number
  /** Another length that the model makes. */
  other?: number
  /** The error code for 5000 dimensions. */
  refusal: string
  /** The vendor refuses, since the catalog lacks the model. */
  refusedByVendor?: true
}
const refusal = 'invalid_value'
const fixed = 'unsupported_parameter'
const models: Subject[] = [
  { model: 'text-embedding-3-small', length: 1536, nanoPerToken: 20, other: 256, refusal },
  { model: 'text-embedding-3-large', length: 3072, nanoPerToken: 130, other: 1024, refusal },
  { model: 'text-embedding-ada-002', length: 1536, nanoPerToken: 100, refusal: fixed },
  { model: 'mistral/mistral-embed', length: 1024, nanoPerToken: 100, refusal: fixed },
  { model: 'mistral/codestral-embed', length: 1536, nanoPerToken: 150, other: 3072, refusal },
  { model: 'alibaba/text-embedding-v4', length: 1024, nanoPerToken: 70, other: 64, refusal },
  { model: 'zai/embedding-3', length: 2048, other: 512, refusal, refusedByVendor: true },
  { model: 'together/BAAI/bge-large-en-v1.5', length: 1024, refusal: fixed },
]
const input = ['the text 1', 'another text 2']

describe('embeddings of each vendor', () => {
  let upstream: Upstream
  let gateway: TestGateway
  let client: OpenAI
  before(async () => {
    upstream = await startUpstream()
    gateway = await startGateway({ variables: embeddingVariables(upstream.url) })
    client = openAiClient(gateway, gateway.liveKey)
  })
  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })
  beforeEach(() => upstream.answer(embeddingVendors))
  const post = (body: object) =>
    gateway.post('/v1/embeddings', body, {
      key: gateway.liveKey,
      headers: { 'cache-control': 'no-store' },
    })
  const vectorsOf = async (response: Response) => {
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    const { data } = JSON.parse(text) as { data: { index: number; embedding: unknown }[] }
    expect(data.map(({ index }) => index)).to.deep.equal(data.map((_, index) => index))
    return data.map(({ embedding }) => embedding)
  }

  for (const { model, length, nanoPerToken } of models) {
    it(`are those of ${model}, as the client reads them, at their price`, async () => {
      const { data, usage } = await client.embeddings.create({ model, input })
      for (const [index, { embedding }] of data.entries()) {
        expect(embedding).to.deep.equal([...numbersOf(input[index]!, length)])
      }
      const tokens = tokensOf(input[0]!) + tokensOf(input[1]!)
      expect(usage.prompt_tokens).to.equal(tokens)
      const row = (await gateway.usage()).at(-1)!
      expect(row).to.include({ face: 'embeddings', modality: 'embedding', model })
      expect(row).to.include({ input_tokens: tokens, output_tokens: 0, outcome: 'ok' })
      const known = nanoPerToken === undefined ? null : tokens * nanoPerToken
      expect(row.cost_nano_usd).to.equal(known)
    })

    it(`of ${model} are 32-bit numbers in base64, and numbers with nine digits`, async () => {
      const texts = await vectorsOf(await post({ model, input, encoding_format: 'base64' }))
      expect(texts).to.deep.equal(input.map((one) => base64Of(numbersOf(one, length))))
      const numbers = await vectorsOf(await post({ model, input, encoding_format: 'float' }))
      for (const [index, vector] of numbers.entries()) {
        const float32 = Float32Array.from(vector as number[])
        expect(float32).to.deep.equal(numbersOf(input[index]!, length))
      }
    })
  }

  for (const { model, other, refusal: code, refusedByVendor = false } of models) {
    it(`of ${model} have the requested length, or are refused`, async () => {
      if (other !== undefined) {
        const [vector] = await vectorsOf(await post({ model, input, dimensions: other }))
        expect(vector).to.have.length(other)
      }
      const calls = upstream.requests.length
      const response = await post({ model, input, dimensions: 5000 })
      const param = refusedByVendor ? null : 'dimensions'
      await expectError(response, { status: 400, code, param })
      expect(upstream.requests.length > calls).to.equal(refusedByVendor)
    })
  }

  it('of OpenAI take tokens and the end user, in one call', async () => {
    const body = { model: 'text-embedding-3-small', input: [[5, 6], [7]], user: 'ada' }
    const vectors = await vectorsOf(await post(body))
    expect(vectors).to.have.length(2)
    expect(upstream.requests).to.have.length(1)
    expect(upstream.requests[0]!.body).to.deep.equal({ ...body, encoding_format: 'base64' })
    await vectorsOf(await post({ ...body, input: [5, 6] }))
    expect(upstream.requests[1]!.body).to.deep.include({ input: [[5, 6]] })
  })

  it('of others refuse tokens, and drop the end user with a warning', async () => {
    for (const model of ['alibaba/text-embedding-v4', 'gemini-embedding-001', 'zai/embedding-3']) {
      const response = await post({ model, input: [5, 6] })
      const error = await expectError(response, {
        status: 400,
        code: 'model_capability_mismatch',
        param: 'input',
      })
      expect(error.message).to.contain('Send texts.')
      expect(upstream.requests.filter(({ method }) => method === 'POST')).to.deep.equal([])
    }
    const response = await post({ model: 'mistral/mistral-embed', input: 'text 1', user: 'ada' })
    const { warnings } = (await response.json()) as { warnings: { param: string }[] }
    expect(warnings.map(({ param }) => param)).to.deep.equal(['user'])
  })

  it('of Google are made in batches, with an estimate where it counts nothing', async () => {
    const model = 'gemini-embedding-001'
    const [first, second] = await vectorsOf(await post({ model, input }))
    expect(Float32Array.from(first as number[])).to.deep.equal(numbersOf(input[0]!, 3072))
    expect(Float32Array.from(second as number[])).to.deep.equal(numbersOf(input[1]!, 3072))
    expect(upstream.requests).to.have.length(1)
    const row = (await gateway.usage()).at(-1)!
    // A token is about four characters.
    expect(row).to.include({ input_tokens: 3 + 4, cost_nano_usd: 7 * 150 })
    expect(row.cost_status).to.equal('estimated')
  })

  it('of Google are charged by its counts', async () => {
    upstream.answer((request) => {
      const { body } = embeddingVendors(request)
      return { body: { ...(body as object), usageMetadata: { promptTokenCount: 11 } } }
    })
    const response = await post({ model: 'gemini-embedding-001', input })
    const { usage } = (await response.json()) as { usage: object }
    expect(usage).to.include({ prompt_tokens: 11, total_tokens: 11, cost_status: 'exact' })
    expect((await gateway.usage()).at(-1)!.cost_nano_usd).to.equal(11 * 150)
  })

  it('of Google with fewer dimensions have length one', async () => {
    const body = { model: 'gemini-embedding-001', input, dimensions: 768 }
    for (const vector of (await vectorsOf(await post(body))) as number[][]) {
      expect(vector).to.have.length(768)
      expect(vector.reduce((sum, number) => sum + number ** 2, 0)).to.be.closeTo(1, 1e-6)
    }
    const response = await post({ ...body, dimensions: 64 })
    await expectError(response, { status: 400, code: 'invalid_value', param: 'dimensions' })
  })
})
