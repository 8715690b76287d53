import { expect } from 'chai'
import OpenAI from 'openai'
import { textChunk } from '../support/chat-answers.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openAiClient } from '../support/openai-client.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'

const request = { model: 'gpt-5-mini', messages: hello }

describe("OpenAI's client on an error", () => {
  let gateway: TestGateway
  let client: OpenAI
  before(async () => {
    gateway = await startGateway({ file: { limits: { requests_per_minute: 5 } } })
    client = openAiClient(gateway)
  })
  after(() => gateway.stop())

  const rows: {
    name: string
    type: new (...rest: never[]) => InstanceType<typeof OpenAI.APIError>
    call: () => Promise<unknown>
    expected: object
  }[] = [
    {
      name: 'throws BadRequestError for a temperature that no model takes',
      type: OpenAI.BadRequestError,
      call: () => client.chat.completions.create({ ...request, temperature: 3 }),
      expected: { status: 400, code: 'invalid_value', param: 'temperature' },
    },
    {
      name: 'throws AuthenticationError for a key of another service',
      type: OpenAI.AuthenticationError,
      call: () => openAiClient(gateway, 'sk-elsewhere').chat.completions.create(request),
      expected: { status: 401, code: 'invalid_api_key', param: null },
    },
    {
      name: 'throws NotFoundError for a model that does not exist',
      type: OpenAI.NotFoundError,
      call: () => client.chat.completions.create({ ...request, model: 'gpt-0' }),
      expected: { status: 404, code: 'model_not_found', param: 'model' },
    },
    {
      name: 'throws NotFoundError for a model that cannot be described',
      type: OpenAI.NotFoundError,
      call: () => client.models.retrieve('nobody/nothing'),
      expected: { status: 404, code: 'model_not_found', param: 'model' },
    },
  ]
  for (const { name, type, call, expected } of rows) {
    it(name, async () => {
      const error = await thrownBy(call())
      expect(error).to.be.instanceOf(type)
      expect(error).to.include(expected)
      expect((error as InstanceType<typeof OpenAI.APIError>).requestID).to.match(/^req_/)
    })
  }

  it('throws RateLimitError with the time to wait once the limit is reached', async () => {
    const calls = Array.from({ length: 6 }, () => thrownBy(client.chat.completions.create(request)))
    const error = (await Promise.all(calls)).find((one) => one instanceof OpenAI.RateLimitError)
    expect(error).to.include({ status: 429, code: 'rate_limit_exceeded', type: 'rate_limit_error' })
    expect(Number(error?.headers.get('retry-after'))).to.be.within(1, 60)
  })
})

describe("OpenAI's client on an interrupted stream", () => {
  let own: OwnEndpoint
  let client: OpenAI
  before(async () => {
    own = await startOwnEndpoint()
    client = openAiClient(own.gateway, own.gateway.liveKey)
  })
  after(() => own.stop())
  const open = (signal?: AbortSignal) =>
    client.chat.completions.create(
      { model: 'own/house-1', messages: hello, stream: true },
      signal === undefined ? {} : { signal },
    )

  it('throws APIError when the provider closes the connection', async () => {
    own.upstream.answer({ pieces: [textChunk('one ')], reset: 'after' })
    const texts: string[] = []
    const error = await thrownBy(
      (async () => {
        for await (const { choices } of await open()) texts.push(choices[0]!.delta.content ?? '')
      })(),
    )
    expect(texts).to.deep.equal(['one '])
    expect(error).to.be.instanceOf(OpenAI.APIError)
    expect(error).to.include({ code: 'provider_error', type: 'upstream_error' })
  })

  it('closes the request to the provider when it aborts', async () => {
    own.upstream.answer({ pieces: [textChunk('one '), textChunk('two ')], hang: true })
    const leaving = new AbortController()
    const stream = await open(leaving.signal)
    const first = await stream[Symbol.asyncIterator]().next()
    expect(first.value?.choices[0]?.delta.content).to.equal('one ')
    leaving.abort()
    await own.upstream.requests[0]!.closed
    expect(own.upstream.requests[0]!.aborted).to.equal(true)
    await until(
      'there is a row',
      async () => (await own.gateway.usage()).at(-1)?.outcome === 'cancelled',
    )
  })

  it('closes the request to the provider when it leaves the loop', async () => {
    own.upstream.answer({ pieces: [textChunk('one '), textChunk('two ')], hang: true })
    const texts: string[] = []
    for await (const { choices } of await open()) {
      texts.push(choices[0]!.delta.content ?? '')
      if (texts.length === 2) break
    }
    await own.upstream.requests[0]!.closed
    expect(texts).to.deep.equal(['one ', 'two '])
    expect(own.upstream.requests[0]!.aborted).to.equal(true)
  })
})

async function thrownBy(call: Promise<unknown>) {
  try {
    await call
  } catch (error) {
    return error as InstanceType<typeof OpenAI.APIError>
  }
  return undefined
}
