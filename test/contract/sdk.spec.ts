import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createClient } from '@hey-api/openapi-ts'
import { expect } from 'chai'
import openapiTS, { astToString } from 'openapi-typescript'
import { generateApi } from 'swagger-typescript-api'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { makeProject, type Project } from '../support/project.ts'

const document = new URL('../../openapi.yaml', import.meta.url)

/** What the program of each client gives: an image, two models, an answer, and the code of a refusal. */
type Outcome = { image: string; models: string[]; said: string; refused: string }
type UseClient = (baseUrl: string, key: string) => Promise<Outcome>

/** A program as a customer writes it; the lines that expect an error prove that the types know. */
const programs: Record<string, { generate: (project: Project) => Promise<void>; program: string }> =
  {
    'openapi-ts': {
      generate: async ({ path }) => {
        await createClient({
          input: document.pathname,
          output: { path: join(path, 'openapi-ts'), module: { extension: '.ts' } },
          plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
          logs: { level: 'silent', file: false },
        })
      },
      program: `
import { createClient } from './openapi-ts/client/index.ts'
import { createChatCompletion, createImage, listModels } from './openapi-ts/sdk.gen.ts'

export async function useClient(baseUrl: string, key: string) {
  const client = createClient({ baseUrl, auth: key })
  const images = await createImage({ client, body: { prompt: 'A fox', quality: 'auto' } })
  const list = await listModels({ client, query: { limit: 2 } })
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  const chat = await createChatCompletion({ client, body: { model: 'gpt-5-mini', messages } })
  // @ts-expect-error -- there is no such quality
  const refused = await createImage({ client, body: { prompt: 'A fox', quality: 'superb' } })
  return {
    image: images.data!.data[0]!.b64_json,
    models: list.data!.data.map(({ id }) => id),
    said: chat.data!.choices[0]!.message.content!,
    refused: (refused.error as { error: { code: string } }).error.code,
  }
}
`,
    },
    'openapi-fetch': {
      generate: async ({ write }) => {
        const types = await openapiTS(document)
        write('openapi-fetch/types.ts', astToString(types))
      },
      program: `
import createClient from 'openapi-fetch'
import type { paths } from './openapi-fetch/types.ts'

export async function useClient(baseUrl: string, key: string) {
  const client = createClient<paths>({ baseUrl, headers: { 'x-api-key': key } })
  const url = '/v1/images/generations'
  const images = await client.POST(url, { body: { prompt: 'A fox', quality: 'auto' } })
  const list = await client.GET('/v1/models', { params: { query: { limit: 2 } } })
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  const body = { model: 'gpt-5-mini', messages }
  const chat = await client.POST('/v1/chat/completions', { body })
  // An event stream would be a string.
  const completion = typeof chat.data === 'object' ? chat.data : undefined
  // @ts-expect-error -- there is no such quality
  const refused = await client.POST(url, { body: { prompt: 'A fox', quality: 'superb' } })
  return {
    image: images.data!.data[0]!.b64_json,
    models: list.data!.data.map(({ id }) => id),
    said: completion!.choices[0]!.message.content!,
    refused: refused.error!.error.code!,
  }
}
`,
    },
    'swagger-typescript-api': {
      generate: async ({ path }) => {
        await generateApi({
          input: document.pathname,
          output: join(path, 'swagger-typescript-api'),
          fileName: 'api.ts',
          httpClientType: 'fetch',
          generateUnionEnums: true,
          silent: true,
        })
      },
      program: `
import { Api, type ErrorResponse } from './swagger-typescript-api/api.ts'

export async function useClient(baseUrl: string, key: string) {
  const baseApiParams = { headers: { authorization: \`Bearer \${key}\` } }
  const { v1 } = new Api({ baseUrl, baseApiParams })
  const images = await v1.createImage({ prompt: 'A fox', quality: 'auto' })
  const list = await v1.listModels({ limit: 2 })
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  const chat = await v1.createChatCompletion({ model: 'gpt-5-mini', messages })
  // @ts-expect-error -- there is no such quality
  const refused = await v1.createImage({ prompt: 'A fox', quality: 'superb' }).catch((e) => e)
  const { error } = refused as { error: ErrorResponse }
  return {
    image: images.data.data[0]!.b64_json,
    models: list.data.data.map(({ id }) => id),
    said: chat.data.choices[0]!.message.content!,
    refused: error.error.code!,
  }
}
`,
    },
  }

describe('a client generated from openapi.yaml', () => {
  let gateway: TestGateway
  let project: Project
  let complaints: string[]
  before(async () => {
    gateway = await startGateway()
    // What a new project has: generated code is not held to more.
    project = makeProject({
      noUncheckedIndexedAccess: false,
      noPropertyAccessFromIndexSignature: false,
      lib: ['es2025', 'dom', 'dom.iterable'],
    })
    for (const [name, { generate, program }] of Object.entries(programs)) {
      await generate(project)
      project.write(`use-${name}.ts`, program)
    }
    complaints = await project.compile()
  })
  after(async () => {
    await gateway.stop()
    project.remove()
  })

  for (const name of Object.keys(programs)) {
    it(`compiles when ${name} made it`, () => {
      expect(complaints.filter((line) => line.includes(name))).to.deep.equal([])
    })

    it(`makes calls when ${name} made it`, async () => {
      const file = pathToFileURL(join(project.path, `use-${name}.ts`)).href
      const { useClient } = (await import(file)) as { useClient: UseClient }
      const { image, models, said, refused } = await useClient(gateway.url, gateway.testKey)
      expect(Buffer.from(image, 'base64').length).to.be.above(1000)
      expect(models).to.have.length(2)
      expect(said).to.include('Hello')
      expect(refused).to.equal('invalid_value')
    })
  }
})
