import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type OpenAI from 'openai'
import { runCommand } from '../../support/command-line.ts'
import { expectError } from '../../support/expect-error.ts'
import { makeFolder } from '../../support/folder.ts'
import { startGateway, type TestGateway } from '../../support/gateway.ts'
import { geminiDouble, geminiKey } from '../../support/gemini-upstream.ts'
import { openAiClient } from '../../support/openai-client.ts'
import { hello } from '../../support/own-endpoint.ts'
import { paint } from '../../support/image-doubles/paint.ts'
import { privateKey, serviceAccount, tokenDouble } from '../../support/token-endpoint.ts'
import { until } from '../../support/until.ts'
import {
  startUpstream,
  type ReceivedRequest,
  type ScriptedAnswer,
  type Upstream,
} from '../../support/upstream.ts'

const place = '/v1/projects/foxes/locations/global/publishers/google/models/'
const minute = 60_000
const loopback = { private_endpoint_networks: ['127.0.0.0/8'] }
const gemini = geminiDouble(() => ({ text: ['A ', 'fox.'], counts: { input: 1000, output: 100 } }))

describe('Google Vertex AI', () => {
  let upstream: Upstream
  let tokens: Upstream
  let gateway: TestGateway
  let client: OpenAI
  let now = Date.parse('2026-11-22T12:00:00Z')
  /** The number of the latest token; the one before is also valid. */
  let serial = 0
  const token = (number: number) => `ya29.fox-${number}-0123456789abcdefghijklmnop`

  /** Gemini behind the path and the token of Vertex. */
  const vertex = (request: ReceivedRequest): ScriptedAnswer => {
    const { path, headers } = request
    if (!path.startsWith(place)) return { status: 404, body: { error: { message: path } } }
    const valid = [serial, serial - 1].map((number) => `Bearer ${token(number)}`)
    if (!valid.includes(headers.authorization ?? '') || headers['x-goog-api-key']) {
      return {
        status: 401,
        body: { error: { code: 401, message: 'Expired token.', status: 'UNAUTHENTICATED' } },
      }
    }
    return gemini({
      ...request,
      path: `/v1beta/models/${path.slice(place.length)}`,
      headers: { ...headers, 'x-goog-api-key': geminiKey },
    })
  }
  const issue = (request: ReceivedRequest): ScriptedAnswer => {
    const address = `${tokens.url}/token`
    return tokenDouble(address, { next: () => token(++serial), clock: () => now })(request)
  }

  before(async () => {
    upstream = await startUpstream()
    tokens = await startUpstream()
  })
  beforeEach(async () => {
    serial = 0
    upstream.answer(vertex)
    tokens.answer(issue)
    gateway = await startGateway({
      clock: () => now,
      variables: {
        VERTEX_SERVICE_ACCOUNT: serviceAccount(`${tokens.url}/token`),
        VERTEX_BASE_URL: `${upstream.url}/v1/projects/foxes/locations/global`,
      },
      file: {
        ...loopback,
        routes: { 'gemini-3.5-flash': ['vertex'], 'gemini-3.1-flash-image': ['vertex'] },
        limits: { cache_ttl_seconds: 0, route_tries_max: 1 },
      },
      bounds: { circuitFailuresMax: 1000 },
    })
    client = openAiClient(gateway, gateway.liveKey)
  })
  afterEach(() => gateway.stop())
  after(async () => {
    await upstream.stop()
    await tokens.stop()
  })
  const chat = async (model = 'gemini-3.5-flash') => {
    const { choices } = await client.chat.completions.create({ model, messages: hello })
    return choices[0]!.message.content
  }
  const ask = (messages: object[] = hello) => {
    const body = { model: 'gemini-3.5-flash', messages }
    return gateway.post('/v1/chat/completions', body, { key: gateway.liveKey })
  }
  /** The texts that callers, operators and the store see. */
  const everything = async (answer = '') =>
    answer + gateway.logText() + JSON.stringify(await gateway.usage())

  it('serves a model of Google at its price, with one token for many calls', async () => {
    const said = await Promise.all([chat(), chat(), chat(), chat('vertex/gemini-3.5-flash')])
    expect(said).to.deep.equal(Array(4).fill('A fox.'))
    expect(tokens.requests).to.have.length(1)
    const rows = await gateway.usage()
    expect(new Set(rows.map(({ provider }) => provider))).to.deep.equal(new Set(['vertex']))
    expect(new Set(rows.map((row) => row.cost_nano_usd)).size).to.equal(1)
    expect(rows[0]!.cost_nano_usd).to.be.greaterThan(0)
    expect(await everything()).to.not.contain(token(1))
  })

  it('reads a HEIC', async () => {
    const heic = Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic').toString('base64')
    const content = [{ type: 'image_url', image_url: { url: `data:image/heic;base64,${heic}` } }]
    await ask([{ role: 'user', content }])
    const { contents } = upstream.requests.at(-1)!.body as { contents: { parts: object[] }[] }
    expect(contents[0]!.parts).to.deep.equal([
      { inlineData: { mimeType: 'image/heic', data: heic } },
    ])
  })

  it('streams', async () => {
    const asked = { model: 'gemini-3.5-flash', messages: hello, stream: true as const }
    let text = ''
    for await (const { choices } of await client.chat.completions.create(asked)) {
      text += choices[0]?.delta.content ?? ''
    }
    expect(text).to.equal('A fox.')
  })

  it('makes pictures, but no embeddings', async () => {
    const picture = await paint({ width: 1024, height: 1024, format: 'jpeg', number: 1 })
    upstream.answer(({ headers }) => {
      expect(headers.authorization).to.equal(`Bearer ${token(serial)}`)
      const inlineData = { mimeType: 'image/jpeg', data: picture.toString('base64') }
      const content = { role: 'model', parts: [{ inlineData }] }
      return { body: { candidates: [{ content, finishReason: 'STOP' }] } }
    })
    const model = 'gemini-3.1-flash-image'
    const { data } = await client.images.generate({ model, prompt: 'A fox' })
    expect(data).to.have.length(1)
    expect(upstream.requests.at(-1)!.path).to.equal(`${place}${model}:generateContent`)
    const body = { model: 'vertex/gemini-embedding-001', input: 'fox' }
    const refused = await gateway.post('/v1/embeddings', body, { key: gateway.liveKey })
    const { message } = await expectError(refused, {
      status: 400,
      code: 'model_capability_mismatch',
    })
    expect(message).to.contain("'vertex'")
  })

  it('renews the token before it ends, beside the calls, and else lets them wait', async () => {
    await chat()
    now += 56 * minute
    await chat()
    await until('the token is renewed', () => serial === 2)
    // The call above had the first token, and this one has the second.
    expect(upstream.requests.at(-1)!.headers.authorization).to.equal(`Bearer ${token(1)}`)
    await chat()
    now += 2 * 60 * minute
    await Promise.all([chat(), chat()])
    expect(tokens.requests).to.have.length(3)
  })

  it('keeps the valid token if the renewal fails', async () => {
    await chat()
    tokens.answer({ status: 503 })
    now += 56 * minute
    await chat()
    await until('a renewal was tried', () => tokens.requests.length === 1)
    await chat()
    expect(tokens.requests).to.have.length(1)
    now += 10 * minute
    await expectError(await ask(), { status: 502, code: 'provider_error' })
  })

  it('fetches another token after the vendor rejected one', async () => {
    await chat()
    upstream.answer({
      status: 401,
      body: { error: { code: 401, message: `Expired ${token(1)}`, status: 'UNAUTHENTICATED' } },
    })
    const response = await ask()
    expect(await everything(await response.clone().text())).to.not.contain(token(1))
    await expectError(response, { status: 502, code: 'provider_error' })
    upstream.answer(vertex)
    expect(await chat()).to.equal('A fox.')
    expect(serial).to.equal(2)
  })

  it('quotes the vendor without the token and the private key', async () => {
    const [, line = ''] = privateKey.split('\n')
    upstream.answer(({ headers }) => {
      const message = `No foxes for ${headers.authorization} or ${line} today.`
      return { status: 400, body: { error: { code: 400, message, status: 'INVALID_ARGUMENT' } } }
    })
    const { message } = await expectError(await ask(), { status: 400, code: 'invalid_value' })
    expect(message).to.contain('No foxes for').and.contain('today.')
    expect(await everything(message))
      .to.not.contain(token(1))
      .and.not.contain(line)
  })

  const refusals: Readonly<Record<string, ScriptedAnswer>> = {
    'a rejected account': {
      status: 400,
      body: { error: 'invalid_grant', error_description: `Invalid grant for ${privateKey}` },
    },
    'an answer without a token': { body: { id_token: 'no' } },
    'a token that is no header': { body: { access_token: 'a\r\nx: y', expires_in: 3600 } },
    'no JSON': { body: '<html>' },
    'a broken connection': { reset: 'before' },
  }
  for (const [name, answer] of Object.entries(refusals)) {
    it(`reports ${name} as a fault of the provider, which received no call`, async () => {
      upstream.answer(vertex)
      tokens.answer(answer)
      const response = await ask()
      const text = await response.clone().text()
      expect(await everything(text)).to.not.contain('PRIVATE KEY')
      await expectError(response, { status: 502, code: 'provider_error' })
      expect(upstream.requests).to.have.length(0)
      expect((await gateway.usage()).at(-1)).to.include({ cost_nano_usd: 0 })
    })
  }

  it('connects to no token endpoint in a private network that the settings do not allow', async () => {
    await gateway.reload({
      private_endpoint_networks: [],
      routes: { 'gemini-3.5-flash': ['vertex'] },
    })
    await expectError(await ask(), { status: 502, code: 'provider_error' })
    expect(tokens.requests).to.have.length(0)
  })

  it('takes a stored account, and refuses another text', async () => {
    const address = { VERTEX_BASE_URL: `${upstream.url}/v1/projects/foxes/locations/global` }
    await using storing = await startGateway({
      clock: () => now,
      variables: { ...address, ENCRYPTION_KEY: undefined },
      file: loopback,
      bounds: { storedRecheckMs: 20 },
    })
    const store = (secret: string) =>
      runCommand(
        ['providers', 'set-key', 'vertex'],
        { ...address, DATA_DIR: storing.dataDir },
        secret,
      )
    const wrong = await store('{"type": "authorized_user"}')
    expect(wrong.code).to.not.equal(0)
    expect(wrong.stderr).to.contain('it must be the JSON file of a service account')
    const unplaced = await runCommand(
      ['providers', 'set-key', 'vertex'],
      { DATA_DIR: storing.dataDir },
      serviceAccount(`${tokens.url}/token`),
    )
    expect(unplaced.stderr).to.contain('set VERTEX_PROJECT to').and.contain('VERTEX_BASE_URL')
    const asked = await storing.post(
      '/api/providers/vertex/key-test',
      { key: 'no-account' },
      { key: storing.adminKey },
    )
    expect(await asked.json()).to.include({ accepted: false, status: null })
    expect((await store(serviceAccount(`${tokens.url}/token`))).stderr).to.equal('')
    await until('the stored account is used', async () => {
      const body = { model: 'vertex/gemini-3.5-flash', messages: hello }
      const init = { key: storing.liveKey }
      return (await storing.post('/v1/chat/completions', body, init)).status === 200
    })
  })

  it('is tested by doctor, with the file of the account', async () => {
    const folder = makeFolder()
    upstream.answer(({ path, headers }) =>
      path === '/v1beta1/publishers/google/models?pageSize=100' &&
      headers.authorization === `Bearer ${token(serial)}`
        ? { body: { publisherModels: [{ name: 'publishers/google/models/gemini-3.5-flash' }] } }
        : { status: 404 },
    )
    // The command has the clock of the machine.
    tokens.answer((request) => {
      const next = () => token(++serial)
      return tokenDouble(`${tokens.url}/token`, { next, clock: Date.now })(request)
    })
    const file = join(folder.path, 'account.json')
    writeFileSync(file, serviceAccount(`${tokens.url}/token`))
    writeFileSync(join(folder.path, 'gateway.yaml'), JSON.stringify(loopback))
    const { stdout, stderr } = await runCommand(['doctor'], {
      DATA_DIR: join(folder.path, 'data'),
      CONFIG_FILE: join(folder.path, 'gateway.yaml'),
      VERTEX_SERVICE_ACCOUNT: file,
      VERTEX_BASE_URL: `${upstream.url}/v1/projects/foxes/locations/global`,
    })
    folder.remove()
    expect(stdout).to.match(/vertex +http:\S+ +Google Vertex AI accepts the key/)
    expect(stdout + stderr)
      .to.not.contain(token(1))
      .and.not.contain('PRIVATE')
  })
})
