import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { expect } from 'chai'
import { readAnswer, received, type Answer } from '../support/answers.ts'
import { setBudgetOfKey } from '../support/budgets.ts'
import { contract, operation, operations, strictComplaints } from '../support/contract.ts'
import { makeFolder } from '../support/folder.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { sendRaw } from '../support/raw-connection.ts'
import { until } from '../support/until.ts'
import { ask, codeOf, expectPromised, requests, saying } from './promised.ts'

/** What the sandbox does, and what becomes of it. */
const scenarios: [words: string, status: number, code: string][] = [
  ['sandbox:status=400', 400, 'invalid_value'],
  ['sandbox:content-policy', 400, 'content_policy_violation'],
  ['sandbox:status=404', 404, 'model_not_found'],
  ['sandbox:status=413', 413, 'request_too_large'],
  ['sandbox:status=429', 429, 'rate_limit_exceeded'],
  ['sandbox:status=401', 502, 'provider_error'],
  ['sandbox:insufficient-quota', 502, 'provider_error'],
  ['sandbox:status=500', 502, 'provider_error'],
  ['sandbox:malformed', 502, 'provider_error'],
  ['sandbox:empty', 502, 'provider_error'],
  ['sandbox:reset', 502, 'provider_error'],
  ['sandbox:status=504', 504, 'timeout'],
]
const creating = operations.filter(({ operationId: id }) => id.startsWith('create'))

describe('every operation of the contract', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway({ file: { limits: { route_tries_max: 1 } } })
  })
  after(() => gateway.stop())

  for (const row of operations) {
    const { operationId: id } = row

    it(`answers ${id} as promised, for a bearer token and for x-api-key`, async () => {
      const byToken = await ask(gateway, row)
      expect(byToken.status).to.be.oneOf([200, 204])
      expectPromised(row, byToken, byToken.status)
      const headers = { 'x-api-key': gateway.adminKey }
      const byKey = await ask(gateway, row, {}, { key: null, headers })
      expectPromised(row, byKey, byToken.status)
    })

    it(`refuses ${id} without good credentials`, async () => {
      const wrong: Record<string, string>[] = [
        {},
        { authorization: 'Bearer mag_test_wrong' },
        { authorization: `Basic ${gateway.testKey}` },
        { 'x-api-key': 'mag_test_wrong' },
        { authorization: 'Bearer mag_test_wrong', 'x-api-key': gateway.testKey },
      ]
      for (const headers of wrong) {
        const answer = await ask(gateway, row, {}, { key: null, headers })
        expectPromised(row, answer, 401)
        expect(answer.headers.get('www-authenticate')).to.match(/^Bearer/)
      }
    })

    it(`ignores a query parameter that ${id} does not have`, async () => {
      const { status } = await ask(gateway, row, {}, { query: '?api-version=2024-10-21' })
      expect(status).to.be.oneOf([200, 204])
    })

    if (!(id in requests)) continue
    it(`refuses ${id} with a body that it cannot read`, async () => {
      expectPromised(row, await ask(gateway, row, {}, { body: '{"fox":' }), 400)
      const headers = { 'content-type': 'text/html' }
      expectPromised(row, await ask(gateway, row, {}, { headers }), 415)
    })
  }

  for (const row of creating) {
    const { operationId: id } = row
    for (const [words, status, code] of scenarios) {
      it(`answers ${status} to ${id} when the prompt is ${words}`, async () => {
        const answer = await ask(gateway, row, saying(row, words))
        expectPromised(row, answer, status)
        expect(codeOf(answer)).to.equal(code)
      })
    }

    it(`answers 403 to ${id} for a model that the key may not use`, async () => {
      const key = await gateway.createKey('test', { models: ['gpt-5'] })
      expectPromised(row, await ask(gateway, row, {}, { key }), 403)
    })

    it(`answers 404 to ${id} for a model that is not there`, async () => {
      expectPromised(row, await ask(gateway, row, { model: 'no-such-model' }), 404)
    })

    it(`answers 410 to ${id} for a model that was deactivated`, async () => {
      expectPromised(row, await ask(gateway, row, { model: 'gpt-image-1' }), 410)
    })

    it(`answers 503 to ${id} when no provider of the model is configured`, async () => {
      expectPromised(row, await ask(gateway, row, {}, { key: gateway.liveKey }), 503)
    })
  }

  it('describes no model that is not there, and none that was deactivated', async () => {
    const row = operation('retrieveModel')
    for (const [model, status] of [
      ['no-such-model', 404],
      ['gpt-image-1', 410],
    ] as const) {
      expectPromised(row, await received(await gateway.fetch(`/v1/models/${model}`)), status)
    }
  })

  it('refuses what is wrong with a request that has no body', async () => {
    const list = operation('listModels')
    expectPromised(list, await ask(gateway, list, {}, { query: '?limit=0' }), 400)
    const nameless = 'GET /v1/models/gpt-5-mini HTTP/1.1\r\nhost: gateway\r\n: x\r\n\r\n'
    expectPromised(
      operation('retrieveModel'),
      readAnswer(await sendRaw(gateway.url, nameless)),
      400,
    )
    const headers = { 'mcp-protocol-version': '1999-01-01' }
    for (const row of operations.filter(({ path }) => path === '/mcp')) {
      expectPromised(row, await ask(gateway, row, {}, { headers }), 400)
    }
  })

  it('answers 202 to a message that wants no answer, and 403 to a page of elsewhere', async () => {
    const post = operation('postMcp')
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    expectPromised(post, await ask(gateway, post, {}, { body }), 202)
    const headers = { origin: 'https://evil.example' }
    for (const row of operations.filter(({ path }) => path === '/mcp')) {
      expectPromised(row, await ask(gateway, row, {}, { headers }), 403)
    }
  })

  it('answers 404 for every other path', async () => {
    for (const path of ['/v1', '/v1/images', '/v1/images/variations', '/v2/models', '/mcp/tools']) {
      const answer = await received(await gateway.fetch(path))
      expect(answer.status).to.equal(404)
      expectError(answer, 'not_found')
    }
  })

  for (const [path, item] of Object.entries(contract.paths)) {
    it(`answers 405 for every other method of ${path}`, async () => {
      const methods = Object.keys(item).map((method) => method.toUpperCase())
      const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((m) => !methods.includes(m))
      for (const method of others) {
        const answer = await received(await gateway.fetch(path, { method }))
        for (const row of operations.filter((one) => one.path === path)) {
          expectPromised(row, answer, 405)
        }
        const allowed = answer.headers.get('allow')!.split(', ')
        expect(allowed.filter((one) => one !== 'HEAD')).to.have.members(methods)
      }
    })
  }
})

describe('every operation of a gateway in trouble', () => {
  let gateway: TestGateway | undefined
  afterEach(async () => {
    await gateway?.stop()
    gateway = undefined
  })

  it('answers 500 as promised when the store fails', async () => {
    const { path, remove } = makeFolder()
    gateway = await startGateway({ variables: { DATA_DIR: path } })
    const database = new DatabaseSync(join(path, 'gateway.db'))
    database.exec('DROP TABLE api_keys')
    database.close()
    for (const row of operations) expectPromised(row, await ask(gateway, row), 500)
    remove()
  })

  it('answers 503 as promised when it is busy', async () => {
    gateway = await startGateway({ file: { limits: { concurrent_requests_max: 1 } } })
    const leaving = new AbortController()
    const { signal } = leaving
    // Whichever comes first is let in: it may be the question whether it is busy.
    const hold = async (): Promise<void> => {
      const row = operation('createChatCompletion')
      const { status } = await ask(gateway!, row, saying(row, 'sandbox:delay=60000'), { signal })
      if (status === 503) await hold()
    }
    const held = hold().catch(() => undefined)
    const models = operation('listModels')
    await until('busy', async () => (await ask(gateway!, models)).status === 503)
    for (const row of operations) expectPromised(row, await ask(gateway, row), 503)
    leaving.abort()
    await held
  })

  it('answers 413 as promised when a body is too large', async () => {
    gateway = await startGateway({ file: { limits: { request_bytes_max: 1024 } } })
    for (const row of operations.filter(({ operationId }) => operationId in requests)) {
      const answer = await ask(gateway, row, {}, { body: ' '.repeat(1025) })
      expectPromised(row, answer, 413)
    }
  })

  it('answers 409 as promised when the key of the request is in use, or was used', async () => {
    gateway = await startGateway()
    const headers = { 'idempotency-key': 'a-key' }
    const used = await ask(gateway, operation('createImage'), {}, { headers })
    expect(used.status).to.equal(200)
    for (const row of creating) {
      const other = await ask(gateway, row, saying(row, 'A windmill'), { headers })
      expectPromised(row, other, 409)
      const both = { 'idempotency-key': row.operationId }
      const slow = saying(row, 'sandbox:delay=200')
      const answers = await Promise.all(
        [1, 2].map(() => ask(gateway!, row, slow, { headers: both })),
      )
      const [, refused] = answers.sort((a, b) => a.status - b.status)
      expectPromised(row, refused!, 409)
      expect(refused!.headers.get('retry-after')).to.equal('1')
    }
  })

  it('answers 402 as promised when the budget is spent', async () => {
    gateway = await startGateway({ variables: { OPENAI_API_KEY: 'sk-never-used' } })
    const { liveKey: key } = gateway
    await setBudgetOfKey(gateway, key, { nanoUsd: 0, period: 'total' })
    for (const row of creating.filter(({ path }) => path.startsWith('/v1/'))) {
      const answer = await ask(gateway, row, {}, { key })
      expectPromised(row, answer, 402)
      expect(answer.headers.get('x-should-retry')).to.equal('false')
    }
  })

  it('answers 429 as promised when the account asks too often', async () => {
    gateway = await startGateway({ file: { limits: { requests_per_minute: 1 } } })
    await ask(gateway, creating[0]!)
    for (const row of creating) {
      const answer = await ask(gateway, row)
      expectPromised(row, answer, 429)
      expect(answer.headers.get('x-ratelimit-remaining-requests')).to.equal('0')
    }
  })

  it('answers 429 as promised when the account holds too many streams', async () => {
    gateway = await startGateway({ file: { limits: { event_streams_per_account_max: 1 } } })
    const row = operation('getMcp')
    const headers = { accept: 'text/event-stream' }
    const leaving = new AbortController()
    await gateway.fetch('/mcp', { headers, signal: leaving.signal })
    expectPromised(row, await ask(gateway, row, {}, { headers }), 429)
    leaving.abort()
  })

  it('answers 408 and 431 as promised to what does not arrive, or is too much', async () => {
    gateway = await startGateway({ file: { limits: { request_timeout_ms: 100 } } })
    for (const row of operations) {
      const head = `${row.method.toUpperCase()} ${row.path} HTTP/1.1\r\nhost: gateway\r\n`
      const long = `x-long: ${'x'.repeat(40_000)}\r\n\r\n`
      expectPromised(row, readAnswer(await sendRaw(gateway.url, head)), 408)
      expectPromised(row, readAnswer(await sendRaw(gateway.url, head + long)), 431)
    }
  })

  it('answers 504 as promised when the provider takes too long', async () => {
    const limits = { image_timeout_ms: 100, chat_timeout_ms: 100 }
    gateway = await startGateway({ file: { limits } })
    for (const row of creating) {
      expectPromised(row, await ask(gateway, row, saying(row, 'sandbox:delay=60000')), 504)
    }
  })
})

function expectError(answer: Answer, code: string): void {
  expectComponent('ErrorResponse', answer)
  expect(codeOf(answer)).to.equal(code)
}

function expectComponent(name: string, { text, headers }: Answer): void {
  const schema = { $ref: `#/components/schemas/${name}` }
  expect(strictComplaints(schema, JSON.parse(text))).to.deep.equal([])
  expect(headers.get('x-request-id')).to.match(/^req_/)
}
