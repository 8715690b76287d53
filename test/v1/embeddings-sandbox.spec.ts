import { expect } from 'chai'
import type OpenAI from 'openai'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openAiClient } from '../support/openai-client.ts'

const model = 'text-embedding-3-small'

describe('embeddings with a test key', () => {
  let gateway: TestGateway
  let client: OpenAI
  before(async () => {
    gateway = await startGateway()
    client = openAiClient(gateway)
  })
  after(() => gateway.stop())
  const embed = async (input: string[], more: object = {}) => {
    const { data } = await client.embeddings.create({ model, input, ...more })
    return data.map(({ embedding }) => embedding)
  }
  const cosine = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, number, at) => sum + number * b[at]!, 0)

  it('have the length of the model, and length one', async () => {
    for (const [name, length] of [
      ['text-embedding-3-small', 1536],
      ['text-embedding-3-large', 3072],
      ['alibaba/text-embedding-v4', 1024],
      ['gemini-embedding-001', 3072],
    ] as const) {
      const [vector] = await embed(['a fox'], { model: name })
      expect(vector, name).to.have.length(length)
      expect(cosine(vector!, vector!), name).to.be.closeTo(1, 1e-5)
    }
  })

  it('are equal for equal texts, and closer for texts with the same words', async () => {
    const [fox, same, near, far] = await embed([
      'The red fox sleeps.',
      'The red fox sleeps.',
      'The red fox runs.',
      'Prices rose in March',
    ])
    expect(same).to.deep.equal(fox)
    expect(near).to.not.deep.equal(fox)
    expect(cosine(fox!, near!)).to.be.above(cosine(fox!, far!) + 0.3)
  })

  it('have the requested length', async () => {
    const [vector] = await embed(['a fox'], { dimensions: 256 })
    expect(vector).to.have.length(256)
    expect(cosine(vector!, vector!)).to.be.closeTo(1, 1e-5)
  })

  it('are the same as numbers and as base64', async () => {
    const read = async (encoding: 'float' | 'base64') => {
      const body = { model, input: ['a fox', 'a lighthouse'], encoding_format: encoding }
      const response = await gateway.post('/v1/embeddings', body)
      expect(response.status).to.equal(200)
      const { data } = (await response.json()) as { data: { embedding: string | number[] }[] }
      return data.map(({ embedding }) => embedding)
    }
    const numbers = (await read('float')) as number[][]
    const texts = (await read('base64')) as string[]
    for (const [index, text] of texts.entries()) {
      const bytes = Buffer.from(text, 'base64')
      const decoded = Float32Array.from({ length: 1536 }, (_, at) => bytes.readFloatLE(at * 4))
      expect(bytes.length).to.equal(1536 * 4)
      expect(Float32Array.from(numbers[index]!)).to.deep.equal(decoded)
    }
  })

  it('count the tokens of texts and of tokens', async () => {
    const texts = await client.embeddings.create({ model, input: ['one two three', 'four'] })
    expect(texts.usage).to.include({ prompt_tokens: 4, total_tokens: 4, cost: 80e-9 })
    const tokens = await client.embeddings.create({ model, input: [[1, 2, 3], [4]] })
    expect(tokens.data).to.have.length(2)
    expect(tokens.usage).to.include({ prompt_tokens: 4, total_tokens: 4 })
  })

  it('follow the scenarios in a text', async () => {
    const body = { model, input: ['a fox', 'sandbox:rate-limit=7'] }
    const response = await gateway.post('/v1/embeddings', body)
    expect(response.headers.get('retry-after')).to.equal('7')
    await expectError(response, { status: 429, code: 'rate_limit_exceeded' })
  })

  it('fail over to the second route', async () => {
    const body = { model, input: 'sandbox:first-route-fails' }
    const response = await gateway.post('/v1/embeddings', body)
    expect(response.status).to.equal(200)
    expect(response.headers.get('x-gateway-provider')).to.equal('sandbox-2')
  })
})
