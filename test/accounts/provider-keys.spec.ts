import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { runCommand } from '../support/command-line.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type GatewayOptions, type TestGateway } from '../support/gateway.ts'
import { openAiDouble, openAiKey } from '../support/openai-upstream.ts'
import { hello, quickLimits } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'
import { startUpstream, type ReceivedRequest, type Upstream } from '../support/upstream.ts'

type Schemas = components['schemas']

const newEncryptionKey = () => randomBytes(32).toString('base64')

forEachStore('the stored keys of providers', (kind) => {
  let openAi: Upstream
  let gateway: TestGateway
  const encryptionKey = newEncryptionKey()
  const start = (options: GatewayOptions = {}) =>
    startGateway({
      ...options,
      variables: {
        OPENAI_BASE_URL: openAi.url,
        ENCRYPTION_KEY: encryptionKey,
        ...options.variables,
      },
      file: { limits: quickLimits },
      bounds: { storedRecheckMs: 20 },
    })

  beforeEach(async () => {
    openAi = await startUpstream()
    const chat = openAiDouble(() => ({ text: ['Hello.'] }))
    openAi.answer((request) =>
      request.method === 'GET' && request.path === '/models' ? models(request) : chat(request),
    )
    gateway = await start()
  })
  afterEach(async () => {
    await gateway.stop()
    await openAi.stop()
  })

  const asOperator = (to = gateway) => ({ key: to.adminKey })
  const add = (body: object, provider = 'openai') =>
    gateway.post(`/api/providers/${provider}/keys`, body, asOperator())
  const added = async (key: string) =>
    (await (await add({ key, force: true })).json()) as Schemas['ProviderKey']
  const test = async (body: object, provider = 'openai') => {
    const response = await gateway.post(`/api/providers/${provider}/key-test`, body, asOperator())
    expect(response.status).to.equal(200)
    return (await response.json()) as Schemas['ProviderKeyTest']
  }
  const remove = (id: string) =>
    gateway.fetch(`/api/providers/openai/keys/${id}`, { method: 'DELETE', ...asOperator() })
  const describeOpenAi = async (of = gateway) => {
    const response = await of.fetch('/api/providers', asOperator(of))
    const { data } = (await response.json()) as Schemas['ProviderList']
    return data.find(({ id }) => id === 'openai')!
  }
  const chat = async (of = gateway): Promise<string> => {
    const request = { model: 'gpt-5.4-mini', messages: hello }
    const response = await of.post('/v1/chat/completions', request, { key: of.liveKey })
    const { choices, error } = (await response.json()) as {
      choices?: { message: { content: string } }[]
      error?: { code: string }
    }
    return choices?.[0]?.message.content ?? error!.code
  }

  it('are used by the next call, until they are removed', async () => {
    expect(await chat()).to.equal('no_provider_configured')
    const response = await add({ key: openAiKey })
    expect(response.status).to.equal(201)
    const text = await response.text()
    expect(text).not.to.include(openAiKey)
    const { test: tested, ...key } = JSON.parse(text) as Schemas['ProviderKey']
    expect(tested).to.include({ accepted: true, rejected: false })
    expect(key).to.include({ provider: 'openai', hint: '…cdef', is_used: true })
    expect(await chat()).to.equal('Hello.')
    const configured = await describeOpenAi()
    expect(configured).to.include({ is_configured: true, key_source: 'store' })
    expect(configured.keys).to.deep.equal([key])
    expect((await remove(key.id)).status).to.equal(204)
    expect(await chat()).to.equal('no_provider_configured')
    expect(await describeOpenAi()).to.deep.include({ key_source: null, keys: [] })
  })

  it('are replaced one by one, and written to the audit log without their secrets', async () => {
    const wrong = 'sk-proj-this-is-not-accepted'
    const { id: replaces } = await added(wrong)
    expect(await chat()).to.equal('provider_error')
    expect((await add({ key: openAiKey, replaces })).status).to.equal(201)
    expect(await chat()).to.equal('Hello.')
    expect((await describeOpenAi()).keys).to.have.length(1)
    const gone = { status: 404, code: 'not_found', param: 'replaces' }
    await expectError(await add({ key: wrong, replaces, force: true }), gone)
    const log = await gateway.fetch('/api/audit?action=provider_key.create', asOperator())
    const text = await log.text()
    expect(text).to.include('"before":{"provider":"openai","keys":["…pted"]}')
    for (const secret of [wrong, openAiKey]) expect(text).not.to.include(secret)
  })

  it('give way to keys of the environment', async () => {
    const { id } = await added('sk-proj-this-is-not-accepted')
    gateway.rewrite({ limits: quickLimits }, { OPENAI_API_KEY: openAiKey })
    await gateway.reload({ limits: quickLimits })
    expect(await chat()).to.equal('Hello.')
    const { key_source: source, keys } = await describeOpenAi()
    expect([source, keys.map((key) => [key.id, key.is_used])]).to.deep.equal([
      'environment',
      [[id, false]],
    ])
  })

  it('are tested by a request for the list of models', async () => {
    expect(await test({ key: openAiKey })).to.deep.equal({
      object: 'provider_key_test',
      accepted: true,
      rejected: false,
      status: 200,
      message: 'OpenAI accepts the key and lists 2 models.',
    })
    const wrong = 'sk-proj-this-is-not-accepted'
    const message401 =
      'OpenAI rejects the key (HTTP 401): Incorrect API key provided: [removed]. See https://platform.openai.com.'
    const rejected = { accepted: false, rejected: true, status: 401, message: message401 }
    expect(await test({ key: wrong })).to.include(rejected)
    const { id } = await added(wrong)
    expect(await test({ id })).to.include(rejected)
    expect(await test({})).to.include(rejected)
    await openAi.stop()
    const { accepted, status, message } = await test({ id })
    expect([accepted, status]).to.deep.equal([false, null])
    expect(message).to.match(/^OpenAI could not be reached at 127\.0\.0\.1:\d+\.$/)
    const unknown = await gateway.post(
      '/api/providers/openai/key-test',
      { id: `pvk_${'0'.repeat(32)}` },
      asOperator(),
    )
    await expectError(unknown, { status: 404, code: 'not_found', param: 'id' })
  })

  const refusals: [name: string, body: object, provider: string, param: string, says: RegExp][] = [
    ['in quotes', { key: `"${openAiKey}"` }, 'openai', 'key', /^key: the key is in quotes/],
    ['with a blank', { key: 'sk-proj 0123456789' }, 'openai', 'key', /invalid character/],
    ['that is empty', { key: '' }, 'openai', 'key', /'key'/],
    ['of 2,000 characters', { key: 'k'.repeat(2000) }, 'openai', 'key', /at most 1,?000/],
    ['with an unknown member', { key: openAiKey, name: 'x' }, 'openai', 'name', /'name'/],
    ['of an unknown provider', { key: openAiKey }, 'opnai', 'provider_id', /Did you mean 'openai'/],
  ]
  for (const [name, body, provider, param, says] of refusals) {
    it(`refuse a key ${name}`, async () => {
      const response = await add(body, provider)
      const { error } = (await response.clone().json()) as { error: { message: string } }
      expect(response.status).to.equal(param === 'provider_id' ? 404 : 400)
      expect(error).to.include({ param })
      expect(error.message).to.match(says)
      expect((await describeOpenAi()).keys).to.have.length(0)
    })
  }

  it('refuse a placeholder and the key of another vendor at the vendor’s own address', async () => {
    await using own = await startGateway()
    const refused = async (key: string) => {
      const response = await own.post('/api/providers/openai/keys', { key }, asOperator(own))
      const refusal = { status: 400, code: 'invalid_value', param: 'key' }
      return (await expectError(response, refusal)).message
    }
    expect(await refused('your-api-key')).to.include('placeholder')
    expect(await refused('sk-ant-api03-0123456789')).to.include('a key of Anthropic')
  })

  it('refuse the same key twice, and more than twenty', async () => {
    const { id } = await added(openAiKey)
    const refusal = { status: 400, code: 'invalid_value', param: 'key' }
    const { message } = await expectError(await add({ key: openAiKey }), refusal)
    expect(message).to.equal(`This key is already stored as ${id}.`)
    for (let count = 1; count < 20; count++) await added(`sk-proj-${count}-0123456789`)
    const last = { key: 'sk-proj-20-0123456789', force: true }
    const full = await expectError(await add(last), refusal)
    expect(full.message).to.include('20 stored keys')
  })

  it('are used by other processes, and after a restart', async () => {
    await using other = await start({ beside: gateway })
    await added(openAiKey)
    await until('the other process uses the key', async () => (await chat(other)) === 'Hello.')
    await using later = await start({ beside: gateway })
    expect(await chat(later)).to.equal('Hello.')
  })

  it('appear in no log, answer, file, export or backup', async () => {
    await added(openAiKey)
    await chat()
    await test({ key: openAiKey })
    await expectError(await add({ key: `${openAiKey} ` }), { status: 400, code: 'invalid_value' })
    const pages = ['/api/providers', '/api/audit', '/api/requests?mode=live', '/metrics']
    for (const page of pages)
      expect(await (await gateway.fetch(page, asOperator())).text()).not.to.include(openAiKey)
    expect(gateway.logText()).not.to.include(openAiKey)
    const variables = { DATA_DIR: gateway.dataDir, ENCRYPTION_KEY: encryptionKey }
    if (kind === 'sqlite') {
      const exported = join(gateway.dataDir, 'rows.jsonl')
      for (const words of [
        ['backup', join(gateway.dataDir, 'copy.db')],
        ['export', exported],
      ])
        expect((await runCommand(words, variables)).stderr).to.equal('')
      expect(readFileSync(exported, 'utf8')).to.include('provider_keys')
    }
    for (const name of readdirSync(gateway.dataDir))
      expect(readFileSync(join(gateway.dataDir, name)).includes(openAiKey), name).to.equal(false)
  })

  it('of one provider cannot be moved to another', async () => {
    const { id } = await added(openAiKey)
    const move = { provider_id: 'xai' }
    await gateway.db.updateTable('provider_keys').set(move).where('id', '=', id).execute()
    await using later = await start({ beside: gateway })
    expect(later.logText()).to.include(`The stored key ${id} of xai cannot be decrypted`)
    expect(openAi.requests.map(({ path }) => path)).to.deep.equal(['/models'])
  })

  it('are not used without their encryption key, which a notice names', async () => {
    const { id } = await added(openAiKey)
    await using later = await start({
      beside: gateway,
      variables: { ENCRYPTION_KEY: newEncryptionKey() },
    })
    expect(await chat(later)).to.equal('no_provider_configured')
    expect(later.logText()).to.include(`The stored key ${id} of openai cannot be decrypted`)
    const [key] = (await describeOpenAi(later)).keys
    expect(key).to.include({ id, is_used: false })
    await using both = await start({
      beside: gateway,
      variables: { ENCRYPTION_KEY: `${newEncryptionKey()},${encryptionKey}` },
    })
    expect(await chat(both)).to.equal('Hello.')
  })

  it('need ENCRYPTION_KEY in PostgreSQL, and a file beside SQLite', async () => {
    await using own = await startGateway({
      variables: { OPENAI_BASE_URL: openAi.url, ENCRYPTION_KEY: undefined },
    })
    const body = { key: openAiKey }
    const response = await own.post('/api/providers/openai/keys', body, asOperator(own))
    if (kind === 'postgres') {
      const refused = await expectError(response, { status: 400, code: 'invalid_value' })
      expect(refused.message).to.include('ENCRYPTION_KEY is not set')
      return
    }
    expect(response.status).to.equal(201)
    expect(await chat(own)).to.equal('Hello.')
    rmSync(join(own.dataDir, 'gateway.key'))
    expect((await describeOpenAi(own)).keys[0]).to.include({ is_used: false })
  })
})

/** The vendor's list of models, for the right key only. */
function models({ headers }: ReceivedRequest) {
  if (headers.authorization === `Bearer ${openAiKey}`)
    return { body: { object: 'list', data: [{ id: 'gpt-5.4' }, { id: 'gpt-5.4-mini' }] } }
  const shown = String(headers.authorization).replace(/^Bearer (.{8}).*(.{4})$/, '$1****$2')
  const message = `Incorrect API key provided: ${shown}. See https://platform.openai.com.`
  return { status: 401, body: { error: { code: 'invalid_api_key', message } } }
}
