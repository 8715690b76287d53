import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import type { UsageTable } from '../../src/storage/tables.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { usageRow } from '../support/usage-row.ts'

type Schemas = components['schemas']

const now = Date.parse('2026-11-22T12:00:00Z')
const minuteMs = 60_000

forEachStore('the catalog and the providers', () => {
  let gateway: TestGateway
  let elapsedMs = 0
  let accountId: string
  before(async () => {
    gateway = await startGateway({
      clock: () => now + elapsedMs,
      sleep: async () => undefined,
      variables: { OPENAI_API_KEY: 'sk-models-1234567890', DEEPSEEK_API_KEY: '' },
      file: {
        providers: [
          {
            id: 'own',
            kind: 'openai-compatible',
            base_url: 'http://127.0.0.1:9/v1',
            models: ['small-one'],
          },
        ],
        routes: { 'gpt-5-mini': ['own/mini', 'openai', 'deepseek/other'] },
      },
    })
    accountId = await gateway.createAccount()
  })
  after(() => gateway.stop())

  let made = 0
  const call = (
    minutesAgo: number,
    attempts: readonly object[],
    more: Partial<UsageTable> = {},
  ): UsageTable => {
    const at = now - minutesAgo * minuteMs
    const id = `req_${at.toString(16).padStart(12, '0')}${String(++made).padStart(20, '0')}`
    const row = { ...usageRow(id, at), account_id: accountId, mode: 'live' }
    return { ...row, attempts: JSON.stringify(attempts), ...more }
  }
  const own = (outcome: string, durationMs: number, status?: number) => ({
    provider: 'own',
    upstreamModel: 'mini',
    outcome,
    durationMs,
    status,
  })
  const get = async <T>(path: string, key: string): Promise<T> => {
    const answer = await gateway.fetch(path, { key })
    expect(answer.status, await answer.clone().text()).to.equal(200)
    return (await answer.json()) as T
  }
  const catalog = (key: string) => get<Schemas['CatalogList']>('/api/models', key)
  const providers = () => get<Schemas['ProviderList']>('/api/providers', gateway.adminKey)

  it('show the attempts of the last hour, of all accounts', async () => {
    const other = await gateway.createAccount()
    await gateway.addUsage([
      call(50, [own('ok', 100.4)]),
      call(40, [own('ok', 300)], { account_id: other }),
      call(30, [own('ok', 200), own('rejected', 5, 400), own('cancelled', 9)]),
      call(20, [own('overloaded', 20, 503), own('timeout', 900)]),
      // An old call and a test call, neither of which counts.
      call(61, [own('credentials', 1, 401)]),
      call(10, [own('unreachable', 1)], { mode: 'test' }),
    ])
    const key = await gateway.createKey('live', { scopes: ['usage:read'] })
    const { measured, data } = await catalog(key)
    expect(measured).to.deep.equal({
      from: '2026-11-22T11:00:00.000Z',
      to: '2026-11-22T12:00:00.000Z',
      calls: 4,
      is_whole: true,
    })
    const { routes, is_usable: isUsable } = data.find(({ model }) => model.id === 'gpt-5-mini')!
    const none = {
      attempts: 0,
      failures: 0,
      error_rate: null,
      median_ms: null,
      percentile_95_ms: null,
    }
    const closed = { circuit: 'closed', circuit_until: null }
    expect(isUsable).to.equal(true)
    expect(routes).to.deep.equal([
      {
        provider: 'own',
        provider_name: 'own',
        upstream_model: 'mini',
        is_configured: true,
        ...closed,
        health: {
          attempts: 5,
          failures: 2,
          error_rate: 0.4,
          median_ms: 200,
          percentile_95_ms: 300,
        },
      },
      {
        provider: 'openai',
        provider_name: 'OpenAI',
        upstream_model: 'gpt-5-mini',
        is_configured: true,
        ...closed,
        health: none,
      },
      {
        provider: 'deepseek',
        provider_name: 'DeepSeek',
        upstream_model: 'other',
        is_configured: false,
        ...closed,
        health: none,
      },
    ])
    const shown = (await providers()).data.find(({ id }) => id === 'own')!
    expect(shown).to.deep.include({
      is_configured: true,
      setting: 'providers',
      base_url: 'http://127.0.0.1:9/v1',
      base_url_setting: null,
      models: 2,
      takes_any_model: false,
      failures: [
        { cause: 'overloaded', attempts: 1 },
        { cause: 'timeout', attempts: 1 },
      ],
      last_success_at: '2026-11-22T11:30:00.000Z',
      failing_since: '2026-11-22T11:40:00.000Z',
    })
    expect(shown.last_failure?.at).to.equal('2026-11-22T11:40:00.000Z')
  })

  it('name the variable of a vendor that is not configured, and never a key', async () => {
    const { data } = await providers()
    expect(data.find(({ id }) => id === 'openai')).to.deep.include({
      is_configured: true,
      base_url: null,
    })
    expect(data.find(({ id }) => id === 'google')).to.deep.include({
      name: 'Google Gemini',
      is_configured: false,
      setting: 'GEMINI_API_KEY',
      other_settings: ['GOOGLE_API_KEY'],
    })
    expect(JSON.stringify(data)).not.to.include('sk-models')
  })

  it('cache the attempts for a while, then read them again', async () => {
    const before = (await providers()).measured!.calls
    await gateway.addUsage([call(1, [own('ok', 10)])])
    expect((await providers()).measured!.calls).to.equal(before)
    elapsedMs += 10_000
    expect((await providers()).measured!.calls).to.equal(before + 1)
  })

  it('read a bounded number of the latest calls, and report it', async () => {
    elapsedMs += 10_000
    const busy = await gateway.createAccount()
    const rows = Array.from({ length: 5200 }, (_, index) =>
      call(index < 3000 ? 2 : 3, [own(index < 3000 ? 'ok' : 'malformed', 7)], { account_id: busy }),
    )
    await gateway.addUsage(rows)
    const { measured, data } = await providers()
    expect(measured!.is_whole).to.equal(false)
    expect(measured!.calls).to.be.within(1600, 5000)
    const { health } = data.find(({ id }) => id === 'own')!
    expect(health.attempts).to.be.below(2000)
    // Only the latest calls of the busy account are counted.
    expect(health.failures).to.be.below(10)
  })

  it('need a scope, and the providers an operator', async () => {
    const reader = await gateway.createKey('live', { scopes: ['usage:read'] })
    const caller = await gateway.createKey('live', { scopes: ['inference'] })
    const administrator = await gateway.createKey('live', {
      scopes: ['admin'],
      accountId: await gateway.createAccount(),
    })
    const refused = { status: 403, code: 'insufficient_scope' }
    await expectError(await gateway.fetch('/api/models', { key: caller }), refused)
    for (const key of [reader, administrator]) {
      await expectError(await gateway.fetch('/api/providers', { key }), refused)
    }
  })

  it('list the models that a key may call, and one model by its alias', async () => {
    const key = await gateway.createKey('live', { models: ['gpt-5-mini'], scopes: ['usage:read'] })
    expect((await catalog(key)).data.map(({ model }) => model.id)).to.deep.equal(['gpt-5-mini'])
    const path = '/api/models?model=qwen-image-plus'
    const { data } = await get<Schemas['CatalogList']>(path, gateway.adminKey)
    expect(data.map(({ model }) => model.id)).to.deep.equal(['alibaba/qwen-image-plus'])
    expect(data[0]!.is_usable).to.equal(false)
    await expectError(await gateway.fetch('/api/models?model=nothing', { key: gateway.adminKey }), {
      status: 404,
      code: 'model_not_found',
    })
  })

  it('show an open circuit, the time of its next attempt, and that it is then tried', async () => {
    const messages = [{ role: 'user', content: 'Hello' }]
    const fail = () =>
      gateway.post(
        '/v1/chat/completions',
        { model: 'small-one', messages },
        { key: gateway.liveKey },
      )
    const look = async () => {
      const { data } = await get<Schemas['CatalogList']>(
        '/api/models?model=small-one',
        gateway.adminKey,
      )
      const { circuit, circuit_until: until } = data[0]!.routes[0]!
      const [open] = (await providers()).data.find(({ id }) => id === 'own')!.circuits
      expect(open?.circuit ?? 'closed').to.equal(circuit)
      return { circuit, until, model: open?.upstream_model }
    }
    expect(await look()).to.deep.equal({ circuit: 'closed', until: null, model: undefined })
    for (let calls = 0; calls < 5; calls++) expect((await fail()).status).to.equal(502)
    const { until, ...opened } = await look()
    expect(opened).to.deep.equal({ circuit: 'open', model: 'small-one' })
    const metrics = await gateway.fetch('/metrics', { key: null })
    const text = await metrics.text()
    expect(text).to.include('gateway_open_circuits{provider="own"} 1')
    const ready = await gateway.fetch('/ready', { key: null })
    expect(await ready.json()).to.have.nested.property('providers.paused', 1)
    // Callers choose the name of a model, so only a call that was answered gets a label of its own.
    expect(text).to.match(/gateway_calls_total\{[^}]*outcome="failed",[^}]*model="_OTHER"\} 5/)
    expect(text).not.to.include('model="small-one"')
    const leftMs = Date.parse(until!) - now - elapsedMs
    expect(leftMs).to.be.within(1000, 600_000)
    elapsedMs += leftMs
    expect(await look()).to.deep.equal({ circuit: 'half_open', until: null, model: 'small-one' })
  })
})

describe('the parameters of a model', () => {
  let gateway: TestGateway
  let data: Schemas['CatalogEntry'][]
  before(async () => {
    gateway = await startGateway()
    const answer = await gateway.fetch('/api/models', { key: gateway.adminKey })
    data = ((await answer.json()) as Schemas['CatalogList']).data
  })
  after(() => gateway.stop())
  const parameters = (id: string) =>
    Object.fromEntries(
      data
        .find(({ model }) => model.id === id)!
        .parameters.map(({ name, ...bounds }) => [name, bounds]),
    )

  it('are the parameters that its vendor supports, with the bounds of both', () => {
    const claude = parameters('claude-opus-4-6')
    expect(claude['temperature']).to.deep.equal({ type: 'number', minimum: 0, maximum: 1 })
    expect(claude['max_completion_tokens']).to.include({ minimum: 1, maximum: 128_000 })
    expect(claude).not.to.have.any.keys('seed', 'n', 'logit_bias', 'presence_penalty')
    // gpt-5-mini is a reasoning model, which does not accept a temperature.
    expect(parameters('gpt-5-mini')).not.to.have.property('temperature')
    expect(parameters('gpt-4.1')['temperature']).to.include({ minimum: 0, maximum: 2 })
  })

  it('are those of images for an image model', () => {
    const drawn = parameters('gpt-image-2')
    expect(drawn['n']).to.deep.equal({ type: 'integer', minimum: 1, maximum: 10 })
    expect(drawn['quality']!.values).to.deep.equal(['auto', 'low', 'medium', 'high'])
    expect(drawn['images']).to.deep.equal({ type: 'array', minimum: 0, maximum: 16 })
    expect(drawn).not.to.have.any.keys('input_fidelity', 'temperature')
    const { size, quality, background } = parameters('alibaba/qwen-image-plus')
    expect(size!.values).to.include('1328x1328')
    expect([quality, background]).to.deep.equal([undefined, undefined])
  })

  it('are accepted without a warning for each listed value', async () => {
    const models = ['alibaba/qwen-image-plus', 'gpt-image-2', 'gemini-3-pro-image']
    for (const model of models) {
      for (const [name, shown] of Object.entries(parameters(model))) {
        const [value] = shown.values ?? []
        if (value === undefined || name.includes('.') || name === 'output_format') continue
        const body = { model, prompt: 'A boat', [name]: value }
        const headers = { 'x-gateway-strict': 'true' }
        const answer = await gateway.post('/v1/images/generations', body, { headers })
        expect(answer.status, `${model} ${name} ${await answer.text()}`).to.equal(200)
      }
    }
  })
})
