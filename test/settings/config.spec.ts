import { join, resolve } from 'node:path'
import { expect } from 'chai'
import type { Variables } from '../../src/settings/config.ts'
import { settingsTable } from '../../src/settings/settings-table.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { loadSettings } from '../support/load-settings.ts'

const keyless = { id: 'own', kind: 'openai-compatible', base_url: 'http://here', models: '*' }

describe('settings', () => {
  let folder: TemporaryFolder
  before(() => {
    folder = makeFolder()
  })
  after(() => folder.remove())

  const loadBoth = (variables: Variables, file?: object | string) =>
    loadSettings(folder.path, variables, file)
  const load = (variables: Variables, file?: object | string) => loadBoth(variables, file).config
  const complaints = (variables: Variables, file?: object | string): string[] => {
    try {
      load(variables, file)
    } catch (error) {
      return (error as Error).message.split('\n')
    }
    throw new Error('There was no complaint.')
  }

  it('all have defaults', () => {
    const config = load({})
    expect(config.endpoints).to.deep.equal([])
    expect(config.limits.requestsPerMinute).to.equal(6000)
    expect(config).to.deep.include({
      host: '127.0.0.1',
      port: 8080,
      baseUrl: undefined,
      dataDir: resolve('data'),
      uploadDir: undefined,
      logLevel: 'info',
      durability: 'normal',
      defaultImageModel: 'gemini-3-pro-image-preview',
      aliases: {},
      routes: {},
    })
  })

  it('come from a variable first, then from gateway.yaml, then from the defaults', () => {
    const { port, host, logLevel } = load({ PORT: '1' }, { port: 2, host: '0.0.0.0' })
    expect({ port, host, logLevel }).to.deep.equal({ port: 1, host: '0.0.0.0', logLevel: 'info' })
  })

  it('treat an empty variable as unset', () => {
    const { port, endpoints } = load({ PORT: '', OPENAI_API_KEY: '' }, { port: 2 })
    expect({ port, endpoints }).to.deep.equal({ port: 2, endpoints: [] })
  })

  it('accept an empty gateway.yaml', () => {
    expect(load({}, '').port).to.equal(8080)
  })

  it('are all reported at once, each by its name, if they are wrong', () => {
    const variables = {
      PORT: '70000',
      LOG_LEVEL: 'loud',
      DURABILITY: 'some',
      BASE_URL: 'example.org/path',
      DATABASE_URL: 'postgres://user:pass#word@somewhere:x/db',
      REDIS_URL: 'redis://somewhere/first',
      UPLOAD_DIR: join(folder.path, 'missing'),
      GROQ_API_KEY: 'k',
      GROQ_BASE_URL: 'nowhere',
    }
    const file = {
      colour: 'red',
      limits: { cache_ttl_seconds: -1, no_such_limit: 1 },
      providers: [{ ...keyless, api_key_env: 'OWN_KEY' }],
    }
    const messages = complaints(variables, file)
    expect(
      messages.map((line) => /^(?:gateway\.yaml, line \d+: )?[\w.]+/.exec(line)?.[0]),
    ).to.have.members([
      'BASE_URL',
      'DATABASE_URL',
      'DURABILITY',
      'GROQ_BASE_URL',
      'LOG_LEVEL',
      'OWN_KEY',
      'PORT',
      'REDIS_URL',
      'UPLOAD_DIR',
      'gateway.yaml, line 1: colour',
      'gateway.yaml, line 3: limits.cache_ttl_seconds',
      'gateway.yaml, line 4: limits.no_such_limit',
    ])
  })

  it('hold several keys of one vendor, separated by commas', () => {
    const { config, secrets } = loadBoth({ MISTRAL_API_KEY: ' first-key, other-key ,,third-key' })
    expect(config.endpoints.map(({ id }) => id)).to.deep.equal(['mistral'])
    expect(secrets.providerKeys).to.deep.equal({ mistral: ['first-key', 'other-key', 'third-key'] })
  })

  const googleKeys = [
    { variables: { GOOGLE_API_KEY: 'second-key' }, key: 'second-key' },
    { variables: { GEMINI_API_KEY: 'first-key', GOOGLE_API_KEY: 'second-key' }, key: 'first-key' },
    { variables: { GEMINI_API_KEY: ' , ', GOOGLE_API_KEY: 'second-key' }, key: 'second-key' },
  ]
  for (const { variables, key } of googleKeys) {
    it(`take the Google key '${key}' from ${JSON.stringify(variables)}`, () => {
      const { config, secrets } = loadBoth(variables)
      expect(config.endpoints.map(({ id }) => id)).to.deep.equal(['google'])
      expect(secrets.providerKeys).to.deep.equal({ google: [key] })
    })
  }

  it('change the address of a vendor by its base URL', () => {
    const [endpoint] = load({
      OPENAI_API_KEY: 'k',
      OPENAI_BASE_URL: 'http://127.0.0.1:9/v1//',
    }).endpoints
    expect(endpoint?.baseUrl).to.equal('http://127.0.0.1:9/v1')
  })

  it("read a list of models with '*' as all models", () => {
    const own = { id: 'own', kind: 'openai-compatible', base_url: 'http://127.0.0.1:9/v1' }
    for (const models of [['*'], ['a', '*']]) {
      const { endpoints } = loadBoth({}, { providers: [{ ...own, models }] }).config
      expect(endpoints.map((one) => one.models)).to.deep.equal(['*'])
    }
  })

  it('accept an own provider, with or without a key', () => {
    const own = {
      kind: 'openai-compatible',
      models: ['a', 'b'],
      base_url: 'http://10.0.0.1:80/v1/',
    }
    const providers = [
      { ...own, id: 'keyed', api_key_env: 'OWN_KEY' },
      { ...own, id: 'open' },
    ]
    const { config, secrets } = loadBoth({ OWN_KEY: 'k1,k2' }, { providers })
    const known = { baseUrl: 'http://10.0.0.1:80/v1', models: ['a', 'b'], fetchesImages: false }
    expect(config.endpoints).to.deep.equal([
      { id: 'keyed', ...known },
      { id: 'open', ...known },
    ])
    expect(secrets.providerKeys).to.deep.equal({ keyed: ['k1', 'k2'], open: [] })
  })

  it('name limits in camel case and keep those that are not set', () => {
    const { limits } = load({}, { limits: { route_tries_max: 7 } })
    expect(limits.routeTriesMax).to.equal(7)
    expect(limits.requestBytesMax).to.equal(50_331_648)
    expect(Object.keys(limits).filter((name) => name.includes('_'))).to.deep.equal([])
    expect(Object.values(limits).every((one) => one === null || Number.isInteger(one))).to.equal(
      true,
    )
  })

  it('separate secrets from printable settings', () => {
    const variables = {
      METRICS_TOKEN: 'secret-token',
      OPENAI_API_KEY: 'secret-one,secret-two',
      OWN_KEY: 'secret-three',
    }
    const { config, secrets } = loadBoth(variables, {
      providers: [{ ...keyless, api_key_env: 'OWN_KEY' }],
    })
    expect(JSON.stringify(config)).to.not.include('secret')
    expect(JSON.parse(JSON.stringify(secrets))).to.deep.equal({
      metricsToken: 'secret-token',
      providerKeys: { openai: ['secret-one', 'secret-two'], own: ['secret-three'] },
    })
  })

  it('are immutable after loading', () => {
    const { config, secrets } = loadBoth(
      { OPENAI_API_KEY: 'sk-0123456789' },
      { routes: { a: ['openai'] } },
    )
    const parts = [
      config,
      config.limits,
      config.endpoints,
      config.endpoints[0],
      config.routes,
      secrets,
      secrets.providerKeys['openai'],
    ]
    expect([...parts, config.routes['a']].every(Object.isFrozen)).to.equal(true)
  })

  it('are listed in a table without configured values', () => {
    const table = settingsTable()
    expect(table).to.include('| `DURABILITY` | `durability` | `normal` |')
    expect(table).to.include('| `DASHSCOPE_API_KEY` | `DASHSCOPE_BASE_URL` |')
  })
})
