import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { installClient, type TypeScriptClient } from '../support/typescript-client.ts'

type Config = Parameters<TypeScriptClient['createClient']>[0]
type GatewayError = InstanceType<TypeScriptClient['GatewayError']>

const body = { model: 'gpt-5.4-mini', messages: [{ role: 'user' as const, content: 'Hello' }] }

describe('the errors of the TypeScript client', () => {
  let gateway: TestGateway
  let sdk: TypeScriptClient
  let client: ReturnType<TypeScriptClient['createClient']>
  let remove: () => void
  before(async () => {
    gateway = await startGateway({ variables: { OPENAI_API_KEY: 'sk-test-0123456789abcdef' } })
    const { client: module, folder } = await installClient()
    sdk = module
    remove = folder.remove
    client = clientOf()
  })
  after(async () => {
    await gateway.stop()
    remove()
  })

  const clientOf = (config: Config = {}) =>
    sdk.createClient({ baseUrl: gateway.url, auth: gateway.testKey, ...config })
  /** A client with the responses of `answer`, for failures that are not of the gateway. */
  const answered = (answer: (call: number) => Response) => {
    const requests: RequestInit[] = []
    const fetch: NonNullable<Config>['fetch'] = async (_url, init = {}) =>
      answer(requests.push(init))
    return { requests, client: clientOf({ fetch }) }
  }
  const failed = (status: number, headers: Record<string, string> = {}) => {
    const error = { message: 'No.', type: 'api_error', code: null, param: null }
    return Response.json({ error }, { status, headers: { 'retry-after': '0', ...headers } })
  }
  const caught = async (promise: PromiseLike<unknown>): Promise<GatewayError> => {
    const error: unknown = await promise.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).to.be.instanceOf(sdk.GatewayError)
    return error as GatewayError
  }

  it('are returned, or thrown with throwOnError', async () => {
    const hot = { ...body, temperature: 9 }
    const { error, data } = await sdk.createChatCompletion({ client, body: hot })
    expect(data).to.equal(undefined)
    const members = { status: 400, code: 'invalid_value', param: 'temperature' }
    expect(error).to.be.instanceOf(sdk.GatewayError).and.include(members)
    expect(error).to.include({ type: 'invalid_request_error', shouldRetry: false })
    expect(error!.requestId).to.equal(error!.headers.get('x-request-id')).and.match(/^req_/)
    const thrown = await caught(sdk.createChatCompletion({ client, body: hot, throwOnError: true }))
    expect(thrown).to.include(members)
  })

  it('have the code and the parameter of the Messages API', async () => {
    const hot = { ...body, max_tokens: 100, temperature: 9 }
    const { error } = await sdk.createMessage({ client, body: hot })
    expect(error).to.include({ status: 400, code: 'invalid_value', param: 'temperature' })
  })

  it('have the budget that does not cover the call, and advise against a retry', async () => {
    const row = { budget_nano_usd: 0, budget_period: 'month' as const }
    const key = await gateway.createKey('live', { row })
    const poor = clientOf({ auth: () => Promise.resolve(key) })
    const { error } = await sdk.createChatCompletion({ client: poor, body })
    expect(error).to.include({ status: 402, code: 'insufficient_quota', shouldRetry: false })
    expect(error!.budget).to.include({ period: 'month' })
  })

  it('have the headers that the last event of a stream adds', async () => {
    const { client } = answered(() => {
      const error = { message: 'Later.', type: 'overloaded_error', code: 'overloaded' }
      const late = { 'retry-after': '7', 'x-gateway-provider': 'openai' }
      const data = JSON.stringify({ error, late_headers: late })
      const text = `: ping\r\n\r\nevent: error\r\ndata: ${data}\r\n\r\n`
      return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
    })
    const events = sdk.streamChatCompletion({ client, body })[Symbol.asyncIterator]()
    const error = await caught(events.next())
    expect(error).to.include({ code: 'overloaded', retryAfterMs: 7000, shouldRetry: true })
    expect(error.headers.get('x-gateway-provider')).to.equal('openai')
  })

  it('say that a response is not of the gateway, and keep its text', async () => {
    const { client } = answered(() => new Response('<p>Bad Gateway', { status: 502 }))
    const { error } = await sdk.createChatCompletion({ client, body })
    expect(error).to.include({ status: 502, code: undefined, body: '<p>Bad Gateway' })
    expect(error!.message).to.equal('The response 502 is not from the gateway.')
  })

  it('have the error of fetch as cause when the gateway is not reached', async () => {
    const client = clientOf({ baseUrl: 'http://127.0.0.1:1', maxRetries: 0 })
    const { error } = await sdk.listModels({ client })
    expect(error).to.include({ name: 'GatewayError', status: undefined, shouldRetry: true })
    expect(error!.cause).to.be.instanceOf(TypeError).with.property('message', 'fetch failed')
  })

  it('are thrown for a path that would be the path of another operation', async () => {
    for (const model of ['', '.', '..']) {
      const thrown: unknown = await sdk
        .retrieveModel({ client, path: { model } })
        .catch((error: unknown) => error)
      expect(thrown)
        .to.be.instanceOf(TypeError)
        .with.property('message')
        .that.includes('path.model')
    }
    const path = { model: 'alibaba/qwen-image' }
    const { data } = await sdk.retrieveModel({ client, path, throwOnError: true })
    expect(data.id).to.equal('alibaba/qwen-image')
  })

  describe('are followed by retries', () => {
    const broken = (): never => {
      throw new TypeError('fetch failed')
    }
    const key = { 'idempotency-key': 'one' }
    const ours = { 'x-request-id': 'req_1' }
    const rows: [string, Response, Record<string, string>, number][] = [
      ['429 of a proxy', failed(429), {}, 3],
      ['503 of a proxy', failed(503), {}, 3],
      ['502 of a proxy', failed(502), {}, 1],
      ['502 of a proxy, if the call is safe', failed(502), key, 3],
      ['502 of the gateway', failed(502, ours), {}, 3],
      [
        '502 with x-should-retry: false',
        failed(502, { ...ours, 'x-should-retry': 'false' }),
        key,
        1,
      ],
      ['400 with x-should-retry: true', failed(400, { 'x-should-retry': 'true' }), {}, 3],
      ['409 with Retry-After', failed(409, ours), {}, 3],
      ['a pause of more than a minute', failed(429, { 'retry-after': '61' }), {}, 1],
      ['an invalid request', failed(400, ours), {}, 1],
    ]
    for (const [name, response, headers, count] of rows) {
      it(`${count - 1} times after ${name}`, async () => {
        const { client, requests } = answered(() => response.clone())
        const { error } = await sdk.createChatCompletion({ client, body, headers })
        expect(error).to.be.instanceOf(sdk.GatewayError)
        expect(requests).to.have.length(count)
      })
    }

    it('once after a connection that failed, if the call is safe', async () => {
      const { client, requests } = answered((call) => {
        if (call === 1) throw new TypeError('fetch failed')
        return Response.json({ object: 'list', data: [] })
      })
      const { data } = await sdk.listModels({ client, throwOnError: true })
      expect(data.data).to.deep.equal([])
      const { error } = await sdk.createChatCompletion({ client: answered(broken).client, body })
      expect(error).to.include({ status: undefined, shouldRetry: false })
      expect(requests).to.have.length(2)
    })

    it('as often as maxRetries of the call or the client says', async () => {
      const { client, requests } = answered(() => failed(503))
      await caught(sdk.listModels({ client, maxRetries: 0, throwOnError: true }))
      expect(requests).to.have.length(1)
      await caught(sdk.listModels({ client, maxRetries: 3, throwOnError: true }))
      expect(requests).to.have.length(5)
    })

    it('until the signal of the call ends the pause', async () => {
      const { client, requests } = answered(() => failed(503, { 'retry-after': '60' }))
      const aborting = new AbortController()
      const call = sdk.listModels({ client, signal: aborting.signal })
      const reason = new Error('Enough.')
      queueMicrotask(() => aborting.abort(reason))
      expect(await call.catch((error: unknown) => error)).to.equal(reason)
      expect(requests.length).to.be.at.most(1)
    })
  })
})
