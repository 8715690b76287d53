import { expect } from 'chai'
import { serviceAccount } from '../support/token-endpoint.ts'
import { ConfigError, type Variables } from '../../src/settings/config.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { loadSettings } from '../support/load-settings.ts'

const keyless = { id: 'own', kind: 'openai-compatible', base_url: 'http://here', models: '*' }

describe('wrong settings', () => {
  let folder: TemporaryFolder
  before(() => {
    folder = makeFolder()
  })
  after(() => folder.remove())

  const load = (variables: Variables, file?: object | string) =>
    loadSettings(folder.path, variables, file)

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
      name: 'a bucket without its key',
      variables: {
        PICTURE_BUCKET: 'http://minio:9000/pictures',
        PICTURE_BUCKET_ACCESS_KEY_ID: 'a',
      },
      says: /^PICTURE_BUCKET_SECRET_ACCESS_KEY is missing\. The bucket for pictures needs it\.$/,
    },
    {
      name: 'a bucket with a password in its address, without quoting it',
      variables: {
        PICTURE_BUCKET: 'http://key:secret@minio:9000/pictures',
        PICTURE_BUCKET_ACCESS_KEY_ID: 'a',
        PICTURE_BUCKET_SECRET_ACCESS_KEY: 'b',
      },
      says: /^PICTURE_BUCKET must be the http\(s\) address of a bucket(?!.*secret)/,
    },
    {
      name: 'a proxy that is none',
      file: { trusted_proxies: ['10.0.0.0/8', '10.0.0.0/33'] },
      says: /^gateway\.yaml, line 3: trusted_proxies\[1\]: '10\.0\.0\.0\/33' is not an IP address or a network/,
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
      says: /^gateway\.yaml, line 2: limits\.upstream_connections_max must be at least 1, not 0\.$/,
    },
    {
      name: 'a misspelled limit',
      file: { limits: { upstream_conections_max: 9 } },
      says: /line 2: limits\.upstream_conections_max is not a setting\. Did you mean upstream_connections_max\?$/,
    },
    {
      name: 'a limit that is no setting and resembles none',
      file: { limits: { circuits_max: 9 } },
      says: /line 2: limits\.circuits_max is not a setting\.$/,
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
    ...[
      ['{"type": "authorized_user"}', /: it must be the JSON file of a service account/],
      ['/no/such.json', /: the file of the service account cannot be read: it does not exist\.$/],
      [serviceAccount('http://tokens.example/token'), /: its token_uri must be an https address/],
      [serviceAccount('https://a.example/', { private_key: 'no' }), /: its private_key cannot be/],
      [serviceAccount('https://a.example/', { client_email: 1 }), /: the file must have client_/],
    ].map(([account, says], place) => ({
      name: `a service account that cannot be used (${place})`,
      variables: { VERTEX_SERVICE_ACCOUNT: String(account), VERTEX_PROJECT: 'foxes' },
      says: new RegExp(`^VERTEX_SERVICE_ACCOUNT${(says as RegExp).source}`),
    })),
    {
      name: "the gateway's own address as a vendor's, which the environment of a client holds",
      variables: { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://localhost:8080/v1' },
      says: /^OPENAI_BASE_URL is the address of this gateway\. Unset it here; set it only for the clients\.$/,
    },
    {
      name: "the gateway's public address as a provider's",
      variables: { BASE_URL: 'https://gateway.example' },
      file: { providers: [{ ...keyless, base_url: 'https://gateway.example/v1' }] },
      says: /^The base_url of the provider 'own' is the address of this gateway\. Set it to the address of the provider\.$/,
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
      says: /^gateway\.yaml, line 2: aliases\.fast .{0,80}256/,
    },
    {
      name: 'a provider of an unknown kind',
      file: { providers: [{ id: 'own', kind: 'soap', base_url: 'http://here', models: '*' }] },
      says: /^gateway\.yaml, line 3: providers\[0\]\.kind must be one of: openai-compatible/,
    },
    {
      name: 'a misspelled setting',
      file: { provider: [] },
      says: /^gateway\.yaml, line 1: provider is not a setting\. Did you mean providers\?$/,
    },
    {
      name: 'the singular of a setting',
      file: { alias: {} },
      says: /^gateway\.yaml, line 1: alias is not a setting\. Did you mean aliases\?$/,
    },
    {
      name: 'a misspelled member of a provider',
      file: { providers: [{ ...keyless, base_uri: 'http://here' }] },
      says: /line 6: providers\[0\]\.base_uri is not a setting\. Did you mean base_url\?$/,
    },
    {
      name: 'models that are no list',
      file: { providers: [{ ...keyless, models: 'all' }] },
      says: /^gateway\.yaml, line 5: providers\[0\]\.models must be '\*' for all models, or a list of names, not "all"\. For example: \*$/,
    },
    {
      name: 'a setting of the file by its name there',
      file: { port: 70_000 },
      says: /^gateway\.yaml, line 1: port must be at most 65535, not 70000\.$/,
    },
    {
      name: 'a folder that only a shell would find',
      variables: { DATA_DIR: '~/gateway' },
      says: /^DATA_DIR must be a path that does not begin with ~, .*, not "~\/gateway"\. For example: \/var/,
    },
  ]
  for (const { name, variables = {}, file, says } of single) {
    it(`are refused in one sentence: ${name}`, () => {
      const start = () => load(variables, file)
      expect(start).to.throw(ConfigError, says)
      expect(start).not.to.throw(/secret|\n/)
    })
  }

  it('are quoted in part, if they are long', () => {
    const file = { providers: [{ ...keyless, models: ['m'.repeat(300)] }] }
    expect(() => load({}, file)).to.throw(ConfigError, /^.{80,400}…/)
  })

  const doubtful: { name: string; variables?: Variables; file?: object; says: string }[] = [
    {
      name: 'letters in the wrong order',
      variables: { OPENIA_API_KEY: 'k' },
      says: 'OPENIA_API_KEY is not a setting. Did you mean OPENAI_API_KEY?',
    },
    {
      name: 'a key without API in its name',
      variables: { OPENAI_KEY: 'k' },
      says: 'OPENAI_KEY is not a setting. Did you mean OPENAI_API_KEY?',
    },
    {
      name: 'a prefix',
      variables: { GATEWAY_PORT: '81' },
      says: 'GATEWAY_PORT is not a setting. Did you mean PORT?',
    },
    {
      name: 'a vendor without the part of its address that only the operator knows',
      variables: { CLOUDFLARE_API_TOKEN: '0123456789abcdef', CLOUDFLARE_ACCOUNT_ID: 'a/b' },
      says: 'Cloudflare Workers AI has a key, but is not used: set CLOUDFLARE_ACCOUNT_ID to the part of its address (letters, digits, . and -), or set CLOUDFLARE_BASE_URL.',
    },
    {
      name: 'an alias of no model',
      file: { aliases: { fast: 'gpt-5.4-mni' } },
      says: "gateway.yaml, line 2: aliases.fast: the catalog has no model 'gpt-5.4-mni'. Did you mean 'gpt-5.4-mini'?",
    },
    {
      name: 'a route by no provider',
      file: { routes: { 'gpt-5.4-mini': ['openai', 'opnrouter/openai/gpt-5.4-mini'] } },
      says: "gateway.yaml, line 4: routes.gpt-5.4-mini[1]: there is no provider 'opnrouter'. Did you mean 'openrouter'?",
    },
    {
      name: 'routes of no model',
      file: { routes: { 'no-such': ['openai'] } },
      says: "gateway.yaml, line 2: routes.no-such: the catalog has no model 'no-such'. Calls fail unless a provider lists it.",
    },
    {
      name: 'a default model that does not exist',
      variables: { DEFAULT_IMAGE_MODEL: 'gpt-image-22' },
      says: "DEFAULT_IMAGE_MODEL: the catalog has no model 'gpt-image-22'. Did you mean 'gpt-image-2'?",
    },
    {
      name: 'a default model that makes no pictures',
      file: { default_tool_image_model: 'gpt-5.4-mini' },
      says: 'gateway.yaml, line 1: default_tool_image_model: gpt-5.4-mini makes no pictures. Choose an image model.',
    },
    {
      name: 'a host that others reach, without a public address',
      variables: { HOST: '0.0.0.0' },
      says: 'HOST makes the gateway reachable from other machines. Set BASE_URL to the address that they use.',
    },
    {
      name: 'PostgreSQL without a key to encrypt responses',
      variables: { DATABASE_URL: 'postgres://gateway@127.0.0.1/gateway' },
      says: 'With DATABASE_URL, responses of /v1/responses are stored only if ENCRYPTION_KEY is set. Set it on all replicas to the output of `openssl rand -base64 32`, or set stored_responses_days to 0.',
    },
  ]
  for (const { name, variables = {}, file, says } of doubtful) {
    it(`are named by a warning, if they are only doubtful: ${name}`, () => {
      expect(load(variables, file).doubts).to.deep.equal([says])
    })
  }

  it('are not doubtful if no responses are to be stored', () => {
    const variables = { DATABASE_URL: 'postgres://gateway@127.0.0.1/gateway' }
    const file = { limits: { stored_responses_days: 0 } }
    expect(load(variables, file).doubts).to.deep.equal([])
    const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString('base64')
    expect(load({ ...variables, ENCRYPTION_KEY }).doubts).to.deep.equal([])
  })

  it('do not include variables of other programs', () => {
    const variables = { HOSTNAME: 'here', NODE_ENV: 'production', PGPORT: '5432', EDITOR: 'vi' }
    const ofServices = { GATEWAY_PORT: 'tcp://10.0.0.1:8080', REDIS_PORT: 'tcp://10.0.0.1:6379' }
    const file = { aliases: { fast: 'gpt-5.4-mini' }, routes: { fast: ['openai', 'openrouter/x'] } }
    expect(load({ ...variables, ...ofServices }, file).doubts).to.deep.equal([])
  })
})
