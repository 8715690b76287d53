import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { keyRemedy } from '../../src/core/words/remedies.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hello } from '../support/own-endpoint.ts'

const body = { model: 'gpt-5-mini', messages: hello }
const elsewhere = 'sk-proj-0123456789abcdefghijklmnop'

describe('authentication', () => {
  let gateway: TestGateway
  let now = Date.parse('2026-11-20T12:00:00Z')
  before(async () => {
    gateway = await startGateway({ clock: () => now, bounds: { keyCacheMs: 0 } })
  })
  after(() => gateway.stop())
  const ask = (headers: Record<string, string>) =>
    gateway.post('/v1/chat/completions', body, { key: null, headers })

  it('accepts a key as a bearer token', async () => {
    expect((await ask({ authorization: `Bearer ${gateway.testKey}` })).status).to.equal(200)
  })

  it('accepts a key as x-api-key', async () => {
    expect((await ask({ 'x-api-key': gateway.testKey })).status).to.equal(200)
  })

  it('accepts `bearer` in any case, with spaces around the key', async () => {
    expect((await ask({ authorization: `bEARER   ${gateway.testKey}  ` })).status).to.equal(200)
  })

  const [bearer, apiKey] = ['authorization', 'x-api-key']
  const twice: {
    name: string
    headers: (key: string, other: string) => string[]
    status: number
  }[] = [
    {
      name: 'a key in both headers',
      headers: (key) => [bearer, `Bearer ${key}`, apiKey, key],
      status: 200,
    },
    {
      name: 'a repeated bearer key',
      headers: (key) => [bearer, `Bearer ${key}`, bearer, `bearer  ${key}`],
      status: 200,
    },
    { name: 'a repeated x-api-key', headers: (key) => [apiKey, key, apiKey, key], status: 200 },
    {
      name: 'a key beside an empty x-api-key',
      headers: (key) => [bearer, `Bearer ${key}`, apiKey, ''],
      status: 200,
    },
    {
      name: 'two valid keys',
      headers: (key, other) => [bearer, `Bearer ${key}`, apiKey, other],
      status: 400,
    },
    {
      name: 'two bearers',
      headers: (key, other) => [bearer, `Bearer ${key}`, bearer, `Bearer ${other}`],
      status: 400,
    },
    {
      name: 'two of x-api-key',
      headers: (key, other) => [apiKey, key, apiKey, other],
      status: 400,
    },
    {
      name: 'a key beside an empty Bearer token',
      headers: (key) => [bearer, 'Bearer ', apiKey, key],
      status: 200,
    },
    {
      name: 'a key before an empty Authorization',
      headers: (key) => [apiKey, key, bearer, ''],
      status: 200,
    },
    {
      name: 'a key followed by one of another service',
      headers: (key) => [bearer, `Bearer ${key}`, apiKey, elsewhere],
      status: 400,
    },
    {
      name: 'a key of another service followed by a key',
      headers: (key) => [bearer, `Bearer ${elsewhere}`, apiKey, key],
      status: 400,
    },
    {
      name: 'a password beside a key',
      headers: (key) => [bearer, `Basic ${btoa(`user:${key}`)}`, apiKey, key],
      status: 400,
    },
  ]
  for (const path of ['/v1/models', '/mcp', '/api/keys']) {
    for (const { name, headers, status } of twice) {
      it(`${status === 200 ? 'takes' : 'refuses'} ${name} at ${path}`, async () => {
        const key = await gateway.createKey('test', { scopes: ['admin', 'inference'] })
        const sent = headers(key, gateway.testKey)
        const answer = await rawRequest(gateway.url, path, sent)
        expect(answer.status, answer.text).to.equal(status)
        if (status === 400) expect(answer.text).to.contain('different credentials. Send one')
      })
    }
  }

  const rows: { name: string; headers: () => Record<string, string>; code: string }[] = [
    { name: 'no key', headers: () => ({}), code: 'missing_api_key' },
    { name: 'an empty x-api-key', headers: () => ({ 'x-api-key': '' }), code: 'missing_api_key' },
    {
      name: 'an empty bearer token',
      headers: () => ({ authorization: 'Bearer ' }),
      code: 'invalid_api_key',
    },
    {
      name: 'a password instead of a token',
      headers: () => ({ authorization: `Basic ${btoa(`user:${gateway.testKey}`)}` }),
      code: 'invalid_api_key',
    },
    {
      name: 'a key without `Bearer`',
      headers: () => ({ authorization: gateway.testKey }),
      code: 'invalid_api_key',
    },
    {
      name: 'a key of another service',
      headers: () => ({ authorization: `Bearer ${elsewhere}` }),
      code: 'invalid_api_key',
    },
    {
      name: 'a key with a typing error',
      headers: () => ({
        'x-api-key': gateway.testKey.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
      }),
      code: 'invalid_api_key',
    },
    {
      name: 'half a key',
      headers: () => ({ 'x-api-key': gateway.testKey.slice(0, 30) }),
      code: 'invalid_api_key',
    },
    {
      name: 'the secret of a client',
      headers: () => ({ 'x-api-key': `mag_secret_${'A'.repeat(49)}` }),
      code: 'invalid_api_key',
    },
    {
      name: 'two keys in one header',
      headers: () => ({ authorization: `Bearer ${gateway.testKey}, ${gateway.testKey}` }),
      code: 'invalid_api_key',
    },
    {
      name: 'a key of ten thousand letters',
      headers: () => ({ 'x-api-key': `mag_test_${'A'.repeat(10_000)}` }),
      code: 'invalid_api_key',
    },
  ]
  for (const { name, headers, code } of rows) {
    it(`refuses ${name}`, async () => {
      const response = await ask(headers())
      const expected = { status: 401, code, type: 'authentication_error', param: null }
      const { message } = await expectError(response, expected)
      expect(message).to.contain(keyRemedy)
      expect(response.headers.get('www-authenticate')).to.equal('Bearer')
    })
  }

  for (const path of ['/v1/models', '/v1/models/gpt-5-mini', '/mcp']) {
    it(`requires a key for ${path}`, async () => {
      expect((await gateway.fetch(path, { key: null })).status).to.equal(401)
    })
  }

  it('checks the key before the request', async () => {
    const init = { key: null, headers: { 'x-gateway-strict': 'perhaps' } }
    const response = await gateway.post('/v1/chat/completions?what=this', { n: 'many' }, init)
    await expectError(response, { status: 401, code: 'missing_api_key' })
  })

  it('refuses a key from its expiry on', async () => {
    const key = await gateway.createKey('test', { expiresAt: now + 1000 })
    now += 999
    expect((await ask({ 'x-api-key': key })).status).to.equal(200)
    now += 1
    const expired = await expectError(await ask({ 'x-api-key': key }), {
      status: 401,
      code: 'expired_api_key',
    })
    expect(expired.message).to.contain(keyRemedy)
  })

  it('refuses a model that the key may not use', async () => {
    const key = await gateway.createKey('test', { models: ['gpt-5'] })
    const allowed = await gateway.post('/v1/chat/completions', { ...body, model: 'gpt-5' }, { key })
    expect(allowed.status).to.equal(200)
    const response = await gateway.post('/v1/chat/completions', body, { key })
    const expected = { status: 403, code: 'model_not_allowed', type: 'permission_error' }
    await expectError(response, { ...expected, param: 'model' })
  })

  it('refuses such a model as a fallback, as an image model and under an alias too', async () => {
    const key = await gateway.createKey('test', { models: ['gpt-5'] })
    const fallback = { ...body, model: 'gpt-5', models: ['gpt-5-mini'] }
    const answers = await Promise.all([
      gateway.post('/v1/chat/completions', fallback, { key }),
      gateway.post('/v1/images/generations', { prompt: 'a fox' }, { key }),
      gateway.post(
        '/v1/images/generations',
        { prompt: 'a fox', model: 'qwen-image-plus' },
        { key },
      ),
    ])
    expect(answers.map(({ status }) => status)).to.deep.equal([403, 403, 403])
  })

  it('lists only the models that the key may use', async () => {
    const key = await gateway.createKey('test', { models: ['gpt-5', 'zai/cogview-4'] })
    const list = (await (await gateway.fetch('/v1/models', { key })).json()) as {
      data: { id: string }[]
    }
    expect(list.data.map(({ id }) => id)).to.have.members(['gpt-5', 'zai/cogview-4'])
  })

  it('lists no model for a live key while no provider is configured', async () => {
    const list = await (await gateway.fetch('/v1/models', { key: gateway.liveKey })).json()
    expect(list).to.deep.equal({ object: 'list', data: [] })
  })

  it('writes no key to the log', async () => {
    const log = gateway.logText()
    expect(log).to.contain('invalid_api_key')
    for (const secret of [gateway.testKey, elsewhere, btoa(`user:${gateway.testKey}`), 'mag_']) {
      expect(log).not.to.contain(secret)
    }
  })

  it('refuses a key that was revoked', async () => {
    await using other = await startGateway({ bounds: { keyCacheMs: 0 } })
    const call = () => other.post('/v1/chat/completions', body)
    expect((await call()).status).to.equal(200)
    await other.revokeKeys()
    const { message } = await expectError(await call(), { status: 401, code: 'invalid_api_key' })
    expect(message).to.contain('revoked')
  })
})

/** Sends the headers verbatim, including repeated ones. */
function rawRequest(url: string, path: string, headers: string[]) {
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const { host } = new URL(url)
    const sent = request(url + path, { headers: ['host', host, ...headers] }, (response) => {
      const { statusCode: status } = response
      void text(response).then((body) => resolve({ status, text: body }), reject)
    })
    sent.once('error', reject).end()
  })
}
