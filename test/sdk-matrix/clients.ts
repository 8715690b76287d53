import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** Calls that the program of each client makes. */
export const callNames = ['models', 'image', 'chat', 'refusal', 'edit', 'form', 'stream'] as const
export type CallName = (typeof callNames)[number]

/** A generator with common options, for which `programs/` contains a program that uses its output. */
export type Client = {
  name: string
  /** Package with the generator's binary and version. */
  package: string
  /** Arguments of the generator, which reads `openapi.yaml` and writes the folder `client`. */
  commands: string[][]
  /** Content of files that the generator or the program needs, by name. */
  files?: Record<string, string>
  /** Calls that the generated code cannot make, with the reason. */
  cannot?: Partial<Record<CallName, string>>
}

export const contract = new URL('../../generated/openapi.yaml', import.meta.url)

const jsonOnly = { form: 'it makes one media type of each body: JSON' }
const firstOnly = { form: 'of a body that is referred to it reads the first media type: JSON' }
const kubbConfig = (client: string) => `
import { defineConfig } from '@kubb/core'
import { pluginClient } from '@kubb/plugin-client'
import { pluginOas } from '@kubb/plugin-oas'
import { pluginTs } from '@kubb/plugin-ts'

export default defineConfig({
  input: { path: 'openapi.yaml' },
  output: { path: 'client' },
  plugins: [pluginOas(), pluginTs(), pluginClient({ client: '${client}' })],
})
`

/** Generators in devDependencies, which every test run tries. */
export const ownClients: Client[] = [
  {
    name: 'hey-api',
    package: '@hey-api/openapi-ts',
    commands: [['openapi-ts', '-i', 'openapi.yaml', '-o', 'client', '--no-log-file']],
  },
  {
    name: 'openapi-fetch',
    package: 'openapi-typescript',
    commands: [['openapi-typescript', 'openapi.yaml', '-o', 'client/types.ts']],
  },
  {
    name: 'swagger-typescript-api',
    package: 'swagger-typescript-api',
    commands: [
      [
        'swagger-typescript-api',
        'generate',
        '-p',
        'openapi.yaml',
        '-o',
        'client',
        '-n',
        'api.ts',
        '--generate-union-enums',
      ],
    ],
  },
]

/** Generators that are installed separately (`tools/package.json`). */
export const furtherClients: Client[] = [
  {
    name: 'oazapfts',
    package: 'oazapfts',
    commands: [['oazapfts', 'openapi.yaml', 'client/api.ts']],
    cannot: jsonOnly,
  },
  {
    name: 'orval',
    package: 'orval',
    commands: [
      ['orval', '--input', 'openapi.yaml', '--output', 'client/api.ts', '--client', 'fetch'],
    ],
    cannot: firstOnly,
  },
  {
    name: 'kubb-fetch',
    package: '@kubb/cli',
    files: { 'kubb.config.mjs': kubbConfig('fetch') },
    commands: [['kubb', 'generate', '--config', 'kubb.config.mjs']],
    cannot: { ...firstOnly, stream: 'its fetch client parses every answer as JSON' },
  },
  {
    name: 'kubb-axios',
    package: '@kubb/cli',
    files: { 'kubb.config.mjs': kubbConfig('axios') },
    commands: [['kubb', 'generate', '--config', 'kubb.config.mjs']],
    cannot: firstOnly,
  },
  {
    name: 'rtk-query',
    package: '@rtk-query/codegen-openapi',
    files: {
      'rtk.config.json': JSON.stringify({
        schemaFile: './openapi.yaml',
        apiFile: './client/empty-api.ts',
        apiImport: 'emptyApi',
        outputFile: './client/api.ts',
        exportName: 'api',
      }),
      'client/empty-api.ts': `
import { createApi, fetchBaseQuery } from '@reduxjs/toolkit/query'

export const base = { url: '', key: '' }
export const emptyApi = createApi({
  baseQuery: (call, api, more) =>
    fetchBaseQuery({
      baseUrl: base.url,
      prepareHeaders: (headers) => headers.set('authorization', \`Bearer \${base.key}\`),
      responseHandler: 'content-type',
    })(call, api, more),
  endpoints: () => ({}),
})
`,
    },
    commands: [['rtk-query-codegen-openapi', 'rtk.config.json']],
    cannot: jsonOnly,
  },
  {
    name: 'openapi-typescript-codegen',
    package: 'openapi-typescript-codegen',
    // As enums, its defaults of parameters would not compile.
    commands: [['openapi', '-i', 'openapi.yaml', '-o', 'client', '--useUnionTypes']],
    cannot: jsonOnly,
  },
  {
    name: 'openapi-zod-client',
    package: 'openapi-zod-client',
    commands: [['openapi-zod-client', 'openapi.yaml', '-o', 'client/api.ts']],
    cannot: jsonOnly,
  },
  {
    name: 'fets',
    package: 'fets',
    // fets generates no code, because its types read the OpenAPI document.
    files: { 'client/openapi.ts': `export const openapi = ${documentText()} as const\n` },
    commands: [],
    cannot: { form: 'its types know no form in a body that is referred to' },
  },
  {
    name: 'typed-openapi',
    package: 'typed-openapi',
    commands: [['typed-openapi', 'openapi.yaml', '-o', 'client/api.ts']],
    cannot: jsonOnly,
  },
]

function documentText(): string {
  return JSON.stringify(parse(readFileSync(contract, 'utf8')))
}
