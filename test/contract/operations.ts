import { expect } from 'chai'
import { readAnswer, received, type Answer } from '../support/answers.ts'
import {
  contract,
  operation,
  ownOperations as operations,
  strictComplaints,
  type OperationRow,
} from '../support/contract.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { sendRaw } from '../support/raw-connection.ts'
import { accessOf, hasBody, prepare } from './prepared.ts'
import { ask, codeOf, expectPromised, saying } from './promised.ts'

/** Prompts that make the sandbox fail, with the expected status and error code. */
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
const creating = operations.filter(
  ({ operationId: id, path }) => /^(create|compact)/.test(id) && path.startsWith('/v1/'),
)
const good = [200, 201, 202, 204]
const evil = { origin: 'https://evil.example' }

describe('every operation of the contract', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway({ file: { limits: { route_tries_max: 1 } } })
  })
  after(() => gateway.stop())

  for (const row of operations) {
    const { operationId: id } = row

    it(`answers ${id} as promised, with each of its credentials`, async () => {
      const byToken = await ask(gateway, row)
      expect(byToken.status).to.be.oneOf(good)
      expectPromised(row, byToken, byToken.status)
      if (accessOf(row) !== 'caller') return
      const headers = { 'x-api-key': gateway.adminKey }
      const byKey = await ask(gateway, row, {}, { key: null, headers })
      expectPromised(row, byKey, byToken.status)
    })

    if (accessOf(row) === 'caller' || accessOf(row) === 'person')
      it(`refuses ${id} without valid credentials`, () => expectRefused(row))

    if (accessOf(row) !== 'caller' && row.method !== 'get')
      it(`refuses ${id} to a page of another origin`, async () => {
        const prepared = await prepare(gateway, row)
        const headers = { ...prepared.headers, ...evil }
        const answer = await ask(gateway, row, {}, { prepared, headers })
        expectPromised(row, answer, 403)
        expect(codeOf(answer)).to.equal('csrf_failed')
      })
    it(`ignores a query parameter that ${id} does not have`, async () => {
      const { status } = await ask(gateway, row, {}, { query: '?api-version=2024-10-21' })
      expect(status).to.be.oneOf(good)
    })

    if (!hasBody(row)) continue
    it(`refuses ${id} with an unreadable body`, async () => {
      expectPromised(row, await ask(gateway, row, {}, { body: '{"fox":' }), 400)
      const headers = { 'content-type': 'text/html' }
      expectPromised(row, await ask(gateway, row, {}, { headers }), 415)
    })
  }

  async function expectRefused(row: OperationRow): Promise<void> {
    const prepared = await prepare(gateway, row)
    delete prepared.headers
    const wrong: Record<string, string>[] = [
      {},
      { authorization: 'Bearer mag_test_wrong' },
      { authorization: `Basic ${gateway.testKey}` },
      { 'x-api-key': 'mag_test_wrong' },
      ...(row.path.startsWith('/api/') ? [{ cookie: 'gateway_session=wrong' }] : []),
    ]
    for (const headers of wrong) {
      const answer = await ask(gateway, row, {}, { key: null, headers, prepared })
      expectPromised(row, answer, 401)
      expect(answer.headers.get('www-authenticate')).to.match(/^Bearer/)
    }
    const headers = { authorization: 'Bearer mag_test_wrong', 'x-api-key': gateway.testKey }
    expectPromised(row, await ask(gateway, row, {}, { key: null, headers, prepared }), 400)
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

    it(`answers 404 to ${id} for an unknown model`, async () => {
      expectPromised(row, await ask(gateway, row, { model: 'no-such-model' }), 404)
    })

    it(`answers 410 to ${id} for a model that was deactivated`, async () => {
      expectPromised(row, await ask(gateway, row, { model: 'gpt-image-1' }), 410)
    })

    it(`answers 503 to ${id} when no provider of the model is configured`, async () => {
      expectPromised(row, await ask(gateway, row, {}, { key: gateway.liveKey }), 503)
    })
  }

  it('describes neither unknown nor deactivated models', async () => {
    const row = operation('retrieveModel')
    for (const [model, status] of [
      ['no-such-model', 404],
      ['gpt-image-1', 410],
    ] as const) {
      expectPromised(row, await received(await gateway.fetch(`/v1/models/${model}`)), status)
    }
  })

  it('finds no stored response with an unknown id', async () => {
    const prepared = { path: { response_id: 'resp_none' } }
    for (const row of operations.filter(({ path }) => path.includes('{response_id}'))) {
      expectPromised(row, await ask(gateway, row, {}, { prepared }), 404)
    }
  })

  it('finds no image job with an unknown id', async () => {
    const prepared = { path: { job_id: `imgjob_${'0'.repeat(32)}` } }
    for (const row of operations.filter(({ path }) => path.includes('{job_id}'))) {
      expectPromised(row, await ask(gateway, row, {}, { prepared }), 404)
    }
  })

  it('answers 204 to a client that has seen all events of an image job', async () => {
    const row = operation('streamImageJob')
    const prepared = await prepare(gateway, row)
    await ask(gateway, row, {}, { prepared })
    const headers = { 'last-event-id': `${prepared.path!['job_id']}.c0` }
    expectPromised(row, await ask(gateway, row, {}, { prepared, headers }), 204)
  })

  it('answers parts and states of a picture, and refuses a link that was changed', async () => {
    const row = operation('retrieveImageFile')
    const prepared = await prepare(gateway, row)
    for (const [headers, status] of [
      [{ range: 'bytes=0-9' }, 206],
      [{ range: 'bytes=999999999-' }, 416],
      [{ 'if-none-match': '*' }, 304],
    ] as const) {
      expectPromised(row, await ask(gateway, row, {}, { prepared, headers }), status)
    }
    const changed = { ...prepared, query: { ...prepared.query, signature: 'a'.repeat(43) } }
    expectPromised(row, await ask(gateway, row, {}, { prepared: changed }), 404)
    const incomplete = { path: prepared.path! }
    expectPromised(row, await ask(gateway, row, {}, { prepared: incomplete }), 400)
  })

  it('counts tokens neither for unknown nor for deactivated models', async () => {
    for (const row of [operation('countMessageTokens'), operation('countResponseTokens')]) {
      for (const [model, status] of [
        ['no-such-model', 404],
        ['gpt-image-1', 410],
      ] as const) {
        expectPromised(row, await ask(gateway, row, { model }), status)
      }
    }
  })

  it('quotes prices neither of unknown nor of deactivated models', async () => {
    const row = operation('quotePrice')
    for (const [model, status] of [
      ['no-such-model', 404],
      ['gpt-image-1', 410],
    ] as const) {
      const request = { model, prompt: 'A lighthouse' }
      expectPromised(row, await ask(gateway, row, { request }), status)
    }
  })

  it('refuses invalid parameters of a request without a body', async () => {
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

  for (const id of ['createImage', 'createImageEdit']) {
    it(`answers 202 to ${id} for a job`, async () => {
      const row = operations.find(({ operationId }) => operationId === id)!
      const headers = { prefer: 'respond-async', 'cache-control': 'no-store' }
      expectPromised(row, await ask(gateway, row, {}, { headers }), 202)
    })
  }

  it('answers 202 to a notification, and 403 to a page of another origin', async () => {
    const post = operation('postMcp')
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    expectPromised(post, await ask(gateway, post, {}, { body }), 202)
    const headers = { origin: 'https://evil.example' }
    for (const row of operations.filter(({ path }) => path === '/mcp')) {
      expectPromised(row, await ask(gateway, row, {}, { headers }), 403)
    }
  })

  it('answers 404 to an unknown session of the tool server', async () => {
    const headers = { 'mcp-session-id': 'invented', accept: 'text/event-stream' }
    for (const row of operations.filter(({ path }) => path === '/mcp')) {
      expectPromised(row, await ask(gateway, row, {}, { headers }), 404)
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

function expectError(answer: Answer, code: string): void {
  expectComponent('ErrorResponse', answer)
  expect(codeOf(answer)).to.equal(code)
}

function expectComponent(name: string, { text, headers }: Answer): void {
  const schema = { $ref: `#/components/schemas/${name}` }
  expect(strictComplaints(schema, JSON.parse(text))).to.deep.equal([])
  expect(headers.get('x-request-id')).to.match(/^req_/)
}
