import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Variables } from '../../src/settings/config.ts'
import { startGatewayDouble } from '../support/connect/gateway-double.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { runCommand } from '../support/command-line.ts'
import { openTestStore } from '../support/store.ts'
import { usageRow } from '../support/usage-row.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

describe('doctor', () => {
  let folder: TemporaryFolder
  let dataDir: string
  let upstream: Upstream
  beforeEach(async () => {
    folder = makeFolder()
    dataDir = join(folder.path, 'data')
    upstream = await startUpstream()
  })
  afterEach(async () => {
    await upstream.stop()
    folder.remove()
  })
  const run = (words: string, variables: Variables = {}) =>
    runCommand(words.split(' '), { DATA_DIR: dataDir, ...variables })
  const secret = 'sk-proj-this-is-the-secret'

  it('is healthy without configuration, and names the variables to set', async () => {
    const { code, stdout } = await run('doctor')
    expect(code).to.equal(0)
    expect(stdout).to.include('No store exists in')
    expect(stdout).to.include('No provider is configured')
    expect(stdout).to.match(/openai +set OPENAI_API_KEY/)
  })

  it('names the place of pictures, and what is wrong with a bucket', async () => {
    const { stdout } = await run('doctor')
    expect(stdout).to.include(`Pictures  ${dataDir}/pictures, for 7 days`)
    const replicas = await run('doctor', { DATABASE_URL: 'postgres://gateway@127.0.0.1:9/gateway' })
    expect(replicas.stdout).to.include('Pictures  no jobs (PICTURE_BUCKET is not set)')
    const { code, stdout: text } = await run('doctor', {
      PICTURE_BUCKET: 'http://127.0.0.1:9/pictures',
      PICTURE_BUCKET_ACCESS_KEY_ID: 'key-of-bucket',
      PICTURE_BUCKET_SECRET_ACCESS_KEY: secret,
    })
    expect(code).to.equal(1)
    expect(text).to.match(
      /^Pictures  The bucket http:\/\/127\.0\.0\.1:9\/pictures cannot be used: .*Check/m,
    )
    expect(text).to.not.match(/key-of-bucket|sk-proj/)
  })

  it('reports a missing Redis for several workers', async () => {
    const { code, stdout } = await run('doctor', { WORKERS: '2' })
    expect(code).to.equal(1)
    expect(stdout).to.match(
      /^Redis +missing: several workers need it\. Set REDIS_URL, or WORKERS=1$/m,
    )
  })

  it('reports the store, its keys and a reachable provider', async () => {
    await run('keys create --mode test --name mine')
    upstream.answer({ body: { object: 'list', data: [] } })
    const variables = { OPENAI_API_KEY: secret, OPENAI_BASE_URL: `${upstream.url}/v1` }
    const { code, stdout, stderr } = await run('doctor', variables)
    expect(code).to.equal(0)
    expect(stdout).to.include(`${dataDir}, 1 active keys`)
    expect(stdout).to.match(/openai +http:\S+ +OpenAI accepts the key and lists 0 models\./)
    expect(stdout).to.not.match(/set OPENAI_API_KEY/)
    expect(stdout + stderr).to.not.include(secret)
    const [request] = upstream.requests
    expect(request).to.include({ method: 'GET', path: '/v1/models' })
    expect(request?.headers.authorization).to.equal(`Bearer ${secret}`)
  })

  it('names the models in use that retire or change their price, with the ratio', async () => {
    const nothing = /^Models    None in use retires or changes its price within 30 days\.$/m
    expect((await run('doctor')).stdout).to.match(nothing)
    const day = (days: number) =>
      new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
    const priced = (usd: string) => ({
      input_per_million_tokens: usd,
      output_per_million_tokens: usd,
    })
    const catalog = {
      'openai/new': { pricing: priced('2.5') },
      'openai/old': { pricing: priced('1'), deactivated_at: day(10), successor: 'openai/new' },
      'openai/gone': { pricing: priced('5'), deactivated_at: day(-3), successor: 'openai/new' },
      'openai/rising': {
        pricing: priced('1'),
        price_changes: [{ from: day(20), pricing: priced('3') }],
      },
    }
    const path = join(folder.path, 'gateway.yaml')
    writeFileSync(path, JSON.stringify({ catalog, aliases: { house: 'openai/old' } }))
    await run('keys create --mode live --name mine --models openai/rising', { CONFIG_FILE: path })
    const store = await openTestStore(dataDir)
    const { id } = await store.db.selectFrom('accounts').select('id').executeTakeFirstOrThrow()
    const row = {
      ...usageRow('req_1', Date.now() - 86_400_000),
      account_id: id,
      mode: 'live' as const,
    }
    await store.commit(store.insertions('usage', [{ ...row, model: 'openai/gone' }]))
    await store.close()
    const { code, stdout } = await run('doctor', { CONFIG_FILE: path })
    expect(code).to.equal(0)
    const sentences = [
      `openai/gone retired on ${day(-3)}; its calls go to openai/new, which costs 0.5 times as much.`,
      `openai/old retires on ${day(10)}; its calls go to openai/new, which costs 2.5 times as much.`,
      `openai/rising costs 3 times as much from ${day(20)} on.`,
    ]
    expect(stdout).to.include(`Models    ${sentences.join('\n          ')}\n`)
    const { stdout: text } = await run('doctor --json', { CONFIG_FILE: path })
    expect(JSON.parse(text)).to.have.property('models').that.deep.equals(sentences)
  })

  it('reports the same as JSON, with all settings and no secret', async () => {
    upstream.answer({ body: { object: 'list', data: [] } })
    const { code, stdout, stderr } = await run('doctor --json', {
      OPENAI_API_KEY: secret,
      OPENAI_BASE_URL: `${upstream.url}/v1`,
      METRICS_TOKEN: 'this-is-another-secret',
    })
    expect(code).to.equal(0)
    expect(stdout + stderr).to.not.include('secret')
    const report = JSON.parse(stdout) as { healthy: boolean; providers: object[]; config: object }
    expect(report.healthy).to.equal(true)
    expect(report.providers[0]).to.include({ id: 'openai', healthy: true })
    expect(report.config).to.have.property('limits').that.includes({ requestsPerMinute: 6000 })
    expect(report.config).to.not.have.nested.property('limits.keyCacheMs')
    const { code: wrong } = await run('doctor --xml')
    expect(wrong).to.equal(2)
  })

  it('exits with 1 if a provider refuses its key, which it does not print', async () => {
    upstream.answer({ status: 401, body: { error: { message: `bad key ${secret}` } } })
    const variables = { OPENAI_API_KEY: secret, OPENAI_BASE_URL: `${upstream.url}/v1` }
    const { code, stdout, stderr } = await run('doctor', variables)
    expect(code).to.equal(1)
    expect(stdout).to.match(/openai +http:\S+ +OpenAI rejects the key \(HTTP 401\)/)
    expect(stdout + stderr).to.not.include(secret)
  })

  it('exits with 1 if a provider cannot be reached', async () => {
    await upstream.stop()
    const variables = { OPENAI_API_KEY: secret, OPENAI_BASE_URL: `${upstream.url}/v1` }
    const { code, stdout } = await run('doctor', variables)
    expect(code).to.equal(1)
    expect(stdout).to.match(/openai +http:\S+ +OpenAI could not be reached at 127\.0\.0\.1:\d+\./)
  })

  it('exits with 1 if the store cannot be opened', async () => {
    writeFileSync(join(folder.path, 'gateway.db'), 'no database')
    const { code, stdout } = await run('doctor', { DATA_DIR: folder.path })
    expect(code).to.equal(1)
    expect(stdout).to.include('cannot be opened')
  })
})

describe('doctor --connect', () => {
  const run = (words: string[], variables: Variables = {}) =>
    runCommand(['doctor', ...words], variables)

  it('exits with 1 if a client would break, and prints no key', async () => {
    const double = await startGatewayDouble()
    try {
      double.baseUrl = 'https://other.example'
      const variables = { GATEWAY_KEY: 'mag_test_another-key' }
      const { code, stdout, stderr } = await run(['--connect', double.url], variables)
      expect(code, stderr).to.equal(1)
      expect(stdout).to.include(`Set BASE_URL=${double.url} for the gateway`)
      expect(stdout).to.include('Use a key of this gateway that has not expired')
      expect(stdout + stderr).not.to.include(variables.GATEWAY_KEY)
    } finally {
      await double.stop()
    }
  })

  it('exits with 0 if none would, also as JSON; no setting is needed', async () => {
    const double = await startGatewayDouble()
    try {
      double.baseUrl = double.url
      const { code, stdout } = await run(['--connect', `${double.url}/mcp`, '--json'], {
        PORT: 'none',
      })
      expect(code, stdout).to.equal(0)
      const report = JSON.parse(stdout) as { healthy: boolean; faults: object[]; works: object[] }
      expect(report).to.include({ healthy: true })
      expect(report.faults).to.deep.equal([])
      expect(report.works.length).to.be.greaterThan(5)
    } finally {
      await double.stop()
    }
  })

  it('requires an address, and prints no password in it', async () => {
    const { code, stderr } = await run(['--connect', 'https://me:secret@gateway.example'])
    expect(code).to.equal(2)
    expect(stderr)
      .to.match(/--connect must be the address/)
      .and.not.match(/secret/)
    expect((await run(['--key', 'mag_test_x'])).stderr).to.include('--connect')
  })
})
