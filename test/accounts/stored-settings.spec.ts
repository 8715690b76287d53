import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { completion } from '../support/chat-answers.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type GatewayOptions, type TestGateway } from '../support/gateway.ts'
import { hello, quickLimits } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

type Schemas = components['schemas']

forEachStore('the stored settings', () => {
  let upstream: Upstream
  let gateway: TestGateway
  const key = 'sk-own-0123456789abcdef'
  const loopback = { private_endpoint_networks: ['127.0.0.0/8'], limits: quickLimits }
  const start = (options: GatewayOptions = {}) =>
    startGateway({ file: loopback, bounds: { storedRecheckMs: 20 }, ...options })

  beforeEach(async () => {
    upstream = await startUpstream()
    upstream.answer(completion('from the endpoint'))
    gateway = await start()
  })
  afterEach(async () => {
    await gateway.stop()
    await upstream.stop()
  })

  const put = (content: string, to = gateway) =>
    to.fetch('/api/settings', {
      method: 'PUT',
      body: JSON.stringify({ content }),
      headers: { 'content-type': 'application/json' },
      key: to.adminKey,
    })
  const stored = async (content: string) => {
    const response = await put(content)
    expect(response.status, await response.clone().text()).to.equal(200)
    return (await response.json()) as Schemas['StoredSettings']
  }
  const endpoint = (baseUrl: string, more = '') =>
    `# Our own model.\nproviders:\n  - id: own\n    kind: openai-compatible\n    base_url: ${baseUrl}\n    models: ['house-1']\n${more}`
  const chat = async (model: string, of = gateway): Promise<string> => {
    const body = { model, messages: hello }
    const response = await of.post('/v1/chat/completions', body, { key: of.liveKey })
    const { choices, error } = (await response.json()) as {
      choices?: { message: { content: string } }[]
      error?: { code: string }
    }
    return choices?.[0]?.message.content ?? error!.code
  }

  it('add an endpoint, its price, a route and an alias, which the next call uses', async () => {
    const prices = `catalog:\n  own/house-1: {pricing: {input_per_million_tokens: 1, output_per_million_tokens: 2}}\n`
    const content = endpoint(upstream.url, `aliases: {house: own/house-1}\n${prices}`)
    const settings = await stored(content)
    expect(settings).to.include({ object: 'stored_settings', content })
    const read = await gateway.fetch('/api/settings', { key: gateway.adminKey })
    expect(await read.json()).to.deep.equal(settings)
    const added = await gateway.post('/api/providers/own/keys', { key }, { key: gateway.adminKey })
    expect(added.status).to.equal(201)
    expect(await chat('house')).to.equal('from the endpoint')
    expect(upstream.requests[0]!.headers.authorization).to.equal(`Bearer ${key}`)
    const [row] = await gateway.usage()
    expect(row).to.include({ model: 'own/house-1', provider: 'own', cost_status: 'exact' })
    const log = await gateway.fetch('/api/audit?action=settings.update', { key: gateway.adminKey })
    expect(await log.text()).to.include('Our own model.')
    await stored('')
    expect(await chat('house')).to.equal('model_not_found')
  })

  it('give way to entries of gateway.yaml', async () => {
    await stored(endpoint(upstream.url, 'aliases: {house: own/house-1, other: own/house-1}\n'))
    const file = { ...loopback, aliases: { house: 'gpt-5.4-mini' } }
    expect((await gateway.reload(file)).status).to.equal(200)
    expect(await chat('house')).to.equal('no_provider_configured')
    expect(await chat('other')).to.equal('from the endpoint')
  })

  const refusals: [name: string, content: string, says: RegExp][] = [
    ['that are no YAML', 'aliases: {a: b', /The stored settings cannot be read/],
    ['that are a list', '- a', /must be a YAML mapping/],
    ['of another member', 'port: 80', /stored settings, line 1: port cannot be stored, only/],
    ['of a member that does not exist', 'provider: []', /Did you mean providers\?/],
    [
      'with a wrong id, by its line',
      endpoint('https://models.example/v1').replace('id: own', 'id: OWN'),
      /stored settings, line 3: providers\[0\]\.id must be 1 to 32 lowercase letters/,
    ],
    [
      "with a vendor's id",
      endpoint('https://models.example/v1').replace('id: own', 'id: openai'),
      /'openai' is the id of OpenAI/,
    ],
    [
      'that read a variable',
      endpoint('https://models.example/v1', '    api_key_env: DATABASE_URL\n'),
      /must not have api_key_env/,
    ],
    ['with an alias that is a list', 'aliases: {a: []}', /stored settings, line 1: aliases\.a/],
  ]
  for (const [name, content, says] of refusals) {
    it(`refuse settings ${name}`, async () => {
      const refusal = { status: 400, code: 'invalid_value' }
      expect((await expectError(await put(content), refusal)).message).to.match(says)
      const read = await gateway.fetch('/api/settings', { key: gateway.adminKey })
      expect(await read.json()).to.include({ content: '', updated_at: null })
    })
  }

  it('are checked although the file has the same setting in another form', async () => {
    const mine = { id: 'mine', kind: 'openai-compatible', base_url: upstream.url, models: '*' }
    expect((await gateway.reload({ ...loopback, providers: [mine] })).status).to.equal(200)
    const refused = await put('providers: {id: own}')
    const { message } = await expectError(refused, { status: 400, code: 'invalid_value' })
    expect(message).to.include('stored settings, line 1: providers must be')
    await stored(endpoint(upstream.url))
    for (const model of ['own/house-1', 'mine/any'])
      expect(await chat(model)).to.equal('from the endpoint')
  })

  it('refuse endpoints in networks that the file does not allow', async () => {
    await using own = await startGateway()
    const hosts = ['127.0.0.1', '169.254.169.254', '[::1]', '10.1.2.3', 'localhost', '2130706433']
    for (const host of hosts) {
      const response = await put(endpoint(`http://${host}:9/v1`), own)
      const { message } = await expectError(response, { status: 400, code: 'invalid_value' })
      expect(message).to.include('is not public').and.include('private_endpoint_networks')
    }
  })

  it('connect to no address that the file does not allow, whatever the name resolves to', async () => {
    const port = new URL(upstream.url).port
    await using own = await start({
      file: { private_endpoint_networks: ['10.0.0.0/8'], limits: quickLimits },
      publicNet: {
        lookup: (_host, _options, found) => found(null, [{ address: '127.0.0.1', family: 4 }]),
      },
    })
    for (const host of ['models.example', '127.0.0.1']) {
      expect((await put(endpoint(`http://${host}:${port}`), own)).status).to.equal(200)
      expect(await chat('own/house-1', own)).to.equal('provider_error')
      const body = { key }
      const test = await own.post('/api/providers/own/key-test', body, { key: own.adminKey })
      expect(await test.json()).to.include({ accepted: false, status: null })
    }
    // An id of digits is a number in YAML.
    const numbered = endpoint(`http://127.0.0.1:${port}`).replace('id: own', 'id: 5')
    expect((await put(numbered, own)).status).to.equal(200)
    expect(await chat('5/house-1', own)).to.equal('provider_error')
    expect(upstream.requests).to.have.length(0)
  })

  it('are used by other processes and after a restart, unless they have become invalid', async () => {
    await using other = await start({ beside: gateway })
    await stored(endpoint(upstream.url, 'aliases: {house: own/house-1}\n'))
    await until(
      'the other process answers',
      async () => (await chat('house', other)) === 'from the endpoint',
    )
    await using later = await start({ beside: gateway })
    expect(await chat('house', later)).to.equal('from the endpoint')
    await using stricter = await start({ beside: gateway, file: { limits: quickLimits } })
    expect(await chat('house', stricter)).to.equal('model_not_found')
    expect(stricter.logText()).to.include('The stored settings are not used: The base_url of')
  })
})
