import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { stringify } from 'yaml'
import { loadConfig, settingsTable, type Variables } from '../../src/settings/config.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'

const keyless = { id: 'own', kind: 'openai-compatible', base_url: 'http://here', models: '*' }

describe('settings', () => {
  let folder: TemporaryFolder
  before(() => {
    folder = makeFolder()
  })
  after(() => folder.remove())

  const loadBoth = (variables: Variables, file?: object | string) => {
    if (file === undefined) return loadConfig(variables)
    const path = join(folder.path, 'gateway.yaml')
    writeFileSync(path, typeof file === 'string' ? file : stringify(file))
    return loadConfig({ ...variables, CONFIG_FILE: path })
  }
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
    expect(messages.map((line) => line.split(/[ :]/, 1)[0])).to.have.members([
      'BASE_URL',
      'DATABASE_URL',
      'DURABILITY',
      'GROQ_BASE_URL',
      'LOG_LEVEL',
      'OWN_KEY',
      'PORT',
      'REDIS_URL',
      'UPLOAD_DIR',
      'gateway.yaml',
      'limits',
      'limits.cache_ttl_seconds',
    ])
    expect(messages.join('\n')).to.include("'colour'").and.to.include("'no_such_limit'")
  })

  const single: { name: string; variables?: Variables; file?: object | string; says: RegExp }[] = [
    {
      name: 'an invalid database address, without quoting its password',
      variables: { DATABASE_URL: 'postgres://user:pass#word@somewhere/db' },
      says: /^DATABASE_URL must be an address such as (?!.*pass#word)/,
    },
    {
      name: 'a Redis by the name of a database, which has a number',
      variables: { REDIS_URL: 'redis://user:pass@somewhere/first' },
      says: /^REDIS_URL: Only a database number may follow the host(?!.*pass)/,
    },
    {
      name: 'a proxy that is none',
      file: { trusted_proxies: ['10.0.0.0/8', '10.0.0.0/33'] },
      says: /^trusted_proxies: '10\.0\.0\.0\/33' is not an IP address or a network/,
    },
    { name: 'a word instead of a number', variables: { PORT: 'eighty' }, says: /^PORT must be/ },
    {
      name: 'a fraction',
      variables: { PORT: '80.5' },
      says: /^PORT must be a whole number, not "80\.5"\.$/,
    },
    {
      name: 'a base URL with a path',
      variables: { BASE_URL: 'https://a.b/c' },
      says: /^BASE_URL must be .* without a path, not "https:\/\/a\.b\/c"\. For example: https:/,
    },
    {
      name: 'a value off a list',
      variables: { LOG_LEVEL: 'loud' },
      says: /one of: silent, fatal.*; it is "loud"\.$/,
    },
    {
      name: 'a missing file',
      variables: { CONFIG_FILE: '/no/such' },
      says: /^CONFIG_FILE: .* cannot be read: it does not exist\.$/,
    },
    { name: 'a file that is no YAML', file: 'a: [', says: /^CONFIG_FILE: .*cannot be read/ },
    {
      name: 'a file that is a list',
      file: '- 1',
      says: /^CONFIG_FILE: .*must be a YAML mapping/,
    },
    {
      name: 'a limit of nothing',
      file: { limits: { upstream_connections_max: 0 } },
      says: /^limits\.upstream_connections_max must be at least 1, not 0\.$/,
    },
    {
      name: 'a limit that is no setting any more, with what holds now',
      file: { limits: { connections_waiting_max: 9 } },
      says: /^limits\.connections_waiting_max was removed in version 0\.1: 4096 connections wait\. Remove it from gateway\.yaml\.$/,
    },
    {
      name: 'a provider whose address is none',
      file: { providers: [{ ...keyless, base_url: 'http://' }] },
      says: /base_url of the provider 'own'/,
    },
    {
      name: 'an address that holds a password',
      variables: { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'https://me:secret@somewhere/v1' },
      says: /^OPENAI_BASE_URL must be an http\(s\) address/,
    },
    {
      name: "a provider with a vendor's id",
      file: { providers: [{ ...keyless, id: 'groq' }] },
      says: /^providers: 'groq' is the id of Groq\. Set GROQ_API_KEY and GROQ_BASE_URL, or choose another id\.$/,
    },
    {
      name: 'a provider with an id of the sandbox',
      file: { providers: [{ ...keyless, id: 'sandbox-2' }] },
      says: /^providers: 'sandbox-2' is reserved for test keys/,
    },
    {
      name: 'two providers of one id',
      file: { providers: [keyless, keyless] },
      says: /^providers: the id 'own' is used twice\. Choose another id\.$/,
    },
    {
      name: 'an alias of five million characters',
      file: { aliases: { fast: 'x'.repeat(5_000_000) } },
      says: /^aliases\.fast .{0,80}256/,
    },
    {
      name: 'a provider of an unknown kind',
      file: { providers: [{ id: 'own', kind: 'soap', base_url: 'http://here', models: '*' }] },
      says: /^providers\.0\.kind must be one of: openai-compatible/,
    },
  ]
  for (const { name, variables = {}, file, says } of single) {
    it(`refuse ${name} in one sentence`, () => {
      const messages = complaints(variables, file)
      expect(messages).to.have.length(1)
      expect(messages[0]).to.match(says)
      expect(messages[0]).to.not.include('secret')
    })
  }

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
