import { expect } from 'chai'
import { createReload } from '../../src/assemble/reload.ts'
import { loadConfig } from '../../src/settings/config.ts'
import { expectError } from '../support/expect-error.ts'
import { aloneChannel } from '../../src/peers/channel.ts'
import { completion } from '../support/chat-answers.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openMessageStream } from '../support/message-stream.ts'
import { hello, ownProvider, quickLimits } from '../support/own-endpoint.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

type Reloaded = { changed: string[]; needs_restart: string[]; notices: string[] }

describe('a reload', () => {
  let one: Upstream
  let other: Upstream
  let gateway: TestGateway
  const variables = { OWN_API_KEY: 'sk-own-0123456789abcdef' }
  const settings = (
    upstream: Upstream,
    more: { limits?: object; [name: string]: unknown } = {},
  ) => ({
    providers: [ownProvider('own', upstream)],
    aliases: { house: 'own/house-1' },
    ...more,
    limits: { ...quickLimits, ...more.limits },
  })

  beforeEach(async () => {
    one = await startUpstream()
    other = await startUpstream()
    one.answer(completion('one'))
    other.answer(completion('other'))
    gateway = await startGateway({ variables, file: settings(one) })
  })
  afterEach(async () => {
    await gateway.stop()
    await one.stop()
    await other.stop()
  })

  const post = (body: object = {}) =>
    gateway.post(
      '/v1/chat/completions',
      { model: 'house', messages: hello, ...body },
      { key: gateway.liveKey },
    )
  const ask = async (body: object = {}): Promise<string> => {
    const response = await post(body)
    const { choices, error } = (await response.json()) as {
      choices?: { message: { content: string } }[]
      error?: { code: string }
    }
    return choices?.[0]?.message.content ?? error!.code
  }
  const reload = async (
    file: Parameters<TestGateway['reload']>[0],
    more = {},
  ): Promise<Reloaded> => {
    const response = await gateway.reload(file, more)
    expect(response.status).to.equal(200)
    return (await response.json()) as Reloaded
  }

  it('calls the provider at its new URL, without cached answers of the old one', async () => {
    expect(await ask()).to.equal('one')
    expect((await reload(settings(other))).changed).to.deep.equal(['providers'])
    expect(await ask()).to.equal('other')
    expect(one.requests).to.have.length(1)
  })

  it('points an alias to another model, which has its own cached answers', async () => {
    expect(await ask()).to.equal('one')
    one.answer(({ body }) => completion((body as { model: string }).model))
    const { changed } = await reload(settings(one, { aliases: { house: 'own/house-2' } }))
    expect(changed).to.deep.equal(['aliases'])
    expect(await ask()).to.equal('house-2')
  })

  it('changes the route of a model, and keeps cached answers if only limits change', async () => {
    expect(await ask()).to.equal('one')
    await reload(settings(one, { limits: { chat_timeout_ms: 5000 } }))
    const again = await post()
    expect(again.headers.get('x-gateway-cache')).to.equal('hit')
    const routes = { 'own/house-1': ['own/elsewhere'] }
    one.answer(({ body }) => completion((body as { model: string }).model))
    expect((await reload(settings(one, { routes }))).changed).to.include('routes')
    expect(await ask()).to.equal('elsewhere')
  })

  it('uses the new provider key from then on', async () => {
    await ask()
    const { changed } = await reload(settings(one), { OWN_API_KEY: 'sk-own-rotated-0123456789' })
    expect(changed).to.deep.equal(['providers'])
    await ask({ messages: [{ role: 'user', content: 'again' }] })
    expect(one.requests.map(({ headers }) => headers.authorization)).to.deep.equal([
      'Bearer sk-own-0123456789abcdef',
      'Bearer sk-own-rotated-0123456789',
    ])
    expect(gateway.logText()).to.not.contain('rotated')
  })

  it('enables a vendor whose key was added', async () => {
    expect(await ask({ model: 'gpt-4.1' })).to.equal('no_provider_configured')
    const { changed } = await reload(settings(one), {
      OPENAI_API_KEY: 'sk-any-0123456789abcdefghij',
      OPENAI_BASE_URL: other.url,
    })
    expect(changed).to.deep.equal(['OPENAI_API_KEY'])
    expect(await ask({ model: 'gpt-4.1' })).to.equal('other')
  })

  it('closes the circuits only of a changed provider', async () => {
    const two = (first: Upstream) => ({
      ...settings(first),
      providers: [ownProvider('own', first), ownProvider('spare', other)],
      routes: { 'own/house-1': ['own', 'spare/house-1'] },
    })
    const attempts = async (content: string) => {
      const response = await post({ messages: [{ role: 'user', content }] })
      return response.headers.get('x-gateway-attempts')
    }
    await reload(two(one))
    one.answer({ status: 401 })
    expect(await attempts('a')).to.equal('own=credentials, spare=ok')
    await reload({ ...two(one), limits: { tokens_per_minute: 1_000_000 } })
    expect(await attempts('b')).to.equal('spare=ok')
    const third = await startUpstream()
    third.answer(completion('third'))
    await reload({
      ...two(one),
      providers: [ownProvider('own', third), ownProvider('spare', other)],
    })
    expect(await attempts('c')).to.equal('own=ok')
    await third.stop()
  })

  it('changes limits from the next call on', async () => {
    const key = gateway.liveKey
    await reload(settings(one, { limits: { chat_timeout_ms: 100, requests_per_minute: 7 } }))
    const { headers } = await post()
    expect(headers.get('x-ratelimit-limit-requests') ?? headers.get('ratelimit-policy')).to.match(
      /7/,
    )
    one.answer({ hang: true })
    const late = await gateway.post(
      '/v1/chat/completions',
      { model: 'own/slow', messages: hello },
      { key },
    )
    await expectError(late, { status: 504, code: 'timeout' })
  })

  it('reports settings that need a restart, each time, and does not apply them', async () => {
    const file = {
      ...settings(one),
      port: 1,
      limits: { ping_interval_ms: 700, cache_ttl_seconds: 3 },
    }
    const first = await reload(file)
    expect(first.changed).to.have.members(['limits.cache_ttl_seconds', 'limits.route_tries_max'])
    expect(first.needs_restart).to.include.members(['port', 'limits.ping_interval_ms'])
    const second = await reload(file)
    expect(second).to.deep.include({ changed: [], needs_restart: first.needs_restart })
  })

  it('applies nothing if settings are invalid, and names all errors', async () => {
    const broken = settings(other, { colour: 'red', limits: { route_tries_max: 0 } })
    const answer = await gateway.reload(broken)
    const { message } = await expectError(answer, { status: 400, code: 'invalid_value' })
    expect(message)
      .to.match(/line \d+: colour is not a setting/)
      .and.to.contain('limits.route_tries_max must be at least 1')
    await expectError(await gateway.reload('a: [1'), { status: 400, code: 'invalid_value' })
    expect(await ask()).to.equal('one')
    expect(gateway.logText()).to.contain('"msg":"reload failed"')
    expect((await reload(settings(other))).changed).to.deep.equal(['providers'])
  })

  it('is allowed only for the operator', async () => {
    const accountId = await gateway.createAccount()
    const key = await gateway.createKey('live', { accountId, scopes: ['admin'] })
    const answer = await gateway.fetch('/api/reload', { method: 'POST', key })
    await expectError(answer, { status: 403, code: 'insufficient_scope' })
  })

  it('is written to the audit log, without values', async () => {
    await reload(settings(other), { OWN_API_KEY: 'sk-own-rotated-0123456789' })
    const answer = await gateway.fetch('/api/audit?action=settings.reload', {
      key: gateway.adminKey,
    })
    const text = await answer.text()
    const { data } = JSON.parse(text) as { data: { after: object; by: string }[] }
    expect(data).to.have.length(1)
    expect(data[0]!.after).to.deep.equal({ changed: ['providers'], needs_restart: [] })
    expect(data[0]!.by).to.match(/^key_/)
    expect(text).to.not.contain('rotated').and.to.not.contain(other.url)
  })

  it('notifies clients of the tool server only if models changed', async () => {
    const stream = await openMessageStream((signal) =>
      gateway.fetch('/mcp', { headers: { accept: 'text/event-stream' }, signal }),
    )
    await reload(settings(one, { limits: { route_tries_max: 3 } }))
    await reload(settings(one, { aliases: { home: 'own/house-1' } }))
    await reload(settings(one, { default_tool_image_model: 'gpt-image-2' }))
    const messages = await stream.untilMessages(2)
    expect(messages.map(({ method }) => method)).to.deep.equal([
      'notifications/tools/list_changed',
      'notifications/tools/list_changed',
    ])
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    expect(await (await gateway.post('/mcp', list)).text()).to.contain(': gpt-image-2.')
    stream.leave()
  })

  it('is refused while the gateway stops', async () => {
    await using stopping = await startGateway({ file: { limits: { drain_notice_ms: 300 } } })
    const drained = stopping.drain()
    await expectError(await stopping.reload(), { status: 503, code: 'overloaded' })
    await drained
  })

  it('runs one at a time: of many at once one applies the change', async () => {
    gateway.rewrite(settings(other))
    const answers = await Promise.all(Array.from({ length: 8 }, () => gateway.reload()))
    const reloads = await Promise.all(answers.map(async (one) => (await one.json()) as Reloaded))
    expect(reloads.filter(({ changed }) => changed.length > 0)).to.have.length(1)
  })

  it('is refused while eight others wait', async () => {
    const noted = Promise.withResolvers<void>()
    const all = loadConfig({})
    const { reload } = createReload({
      readSettings: () => Promise.resolve(all),
      current: () => all,
      build: () => expect.fail('Nothing has changed.'),
      begin: () => undefined,
      isDraining: () => false,
      channel: aloneChannel,
      note: () => noted.promise,
      events: { reloaded: () => undefined, reloadRefused: () => undefined },
      clock: Date.now,
    })
    const by = { id: 'signal', address: null }
    const taken = Array.from({ length: 8 }, () => reload(by))
    const ninth = await reload(by).catch((error: unknown) => error)
    expect(ninth).to.include({ code: 'overloaded' })
    noted.resolve()
    await Promise.all(taken)
    expect(await reload(by)).to.deep.include({ changed: [] })
  })
})
