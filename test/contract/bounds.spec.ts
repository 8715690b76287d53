import { expect } from 'chai'
import { toolChecks, type Check } from '../../generated/checks.js'
import {
  alternatives,
  bodySchema,
  contract,
  operation,
  resolve,
  tools,
  type Parameter,
  type Schema,
} from '../support/contract.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { pixel, pixelFile } from '../support/pixel.ts'
import { memberProbes, probesOf, sample, type Probe, type Words } from '../support/probes.ts'
import { errors } from './document.ts'
import { imageConfigs, type Subject } from './image-configs.ts'
import { errorIn, type ErrorBody } from './promised.ts'
import { inContext, toolCall } from './tool-context.ts'

const words: Words = {
  model: 'gpt-image-2.6-sunburst',
  models: 'gpt-5-mini',
  image_url: pixel,
  url: pixel,
  family: 'claude',
  tool_call_id: toolCall.id,
  // The bytes and the type of a picture, and of a document in the Messages API.
  data: pixel.split(',')[1],
  result: pixel.split(',')[1],
  media_type: 'image/png',
  // The name of the function and of the tool that requests refer to.
  name: 'paint',
}
const messages = [{ role: 'user', content: 'Paint a fox' }]

const subjects: Subject[] = [
  {
    id: 'createImage',
    base: { prompt: 'a fox', size: '1024x1024' },
    models: ['gpt-image-2.6-sunburst', 'zai/cogview-4'],
  },
  {
    id: 'createImageEdit',
    base: { prompt: 'a fox', images: [{ image_url: pixel }] },
    models: ['gpt-image-2.6-sunburst'],
  },
  { id: 'createEmbedding', base: { input: 'a fox' }, models: ['text-embedding-3-small'] },
  { id: 'createModeration', base: { input: 'a fox' }, models: ['omni-moderation-latest'] },
  {
    id: 'createChatCompletion',
    base: { messages },
    models: ['gpt-5-mini', 'openrouter/any', 'claude-sonnet-4-6'],
  },
  {
    id: 'createResponse',
    base: { input: 'Hello.' },
    models: ['gpt-5-mini', 'openrouter/any', 'claude-sonnet-4-6'],
  },
  {
    id: 'createMessage',
    base: { messages, max_tokens: 100 },
    models: ['claude-sonnet-4-6', 'openrouter/any'],
  },
  { id: 'compactResponse', base: { input: 'Hello.' }, models: ['gpt-5-mini', 'openrouter/any'] },
  { id: 'countResponseTokens', base: { input: 'Hello.' }, models: ['gpt-5-mini'] },
  { id: 'countMessageTokens', base: { messages }, models: ['gpt-5-mini'] },
]

const formSchema = resolve(
  operation('createImageEdit').requestBody!.content['multipart/form-data']!.schema,
)

type Send = (value: unknown, model: string | undefined) => Promise<Response>

describe('the bounds of the contract', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway({
      // Configures a provider whose models, which the catalog lacks, receive every member unchanged.
      variables: { OPENROUTER_API_KEY: 'sk-or-0123456789abcdef' },
      file: { limits: { requests_per_minute: 1_000_000 } },
    })
  })
  after(() => gateway.stop())

  for (const { id, base, models } of subjects) {
    describe(`of ${id}`, () => {
      const { path, parameters = [] } = operation(id)
      const valid = { ...base, model: models[0] }
      const schema = bodySchema(operation(id))!
      for (const [name, probes] of byMember(schema, valid, models)) {
        const send: Send = (value, model) => {
          // Keeps the model of a probe of `model`.
          const chosen = model === undefined || name === 'model' ? {} : { model }
          const body = { ...(value as object), ...chosen }
          return gateway.post(path, model === undefined ? body : inContext(id, body))
        }
        it(`hold for ${name}`, () => expectHeld(probes, send, models))
      }

      it('hold for a body that is not an object', async () => {
        const refusal = { status: 400, param: null, code: 'invalid_value' }
        for (const body of [[], 'a fox', 42, true, null]) {
          const { status, error } = await read(await gateway.post(path, body))
          expect({ status, ...error }).to.include(refusal)
        }
      })

      for (const parameter of parameters.map((one) => resolve(one))) {
        it(`hold for the header ${parameter.name}`, async () => {
          // Uses a separate account, because an idempotency key belongs to one operation of an account.
          const key = await gateway.createKey('test', { accountId: await gateway.createAccount() })
          const init = (one: string) => ({ key, headers: { [parameter.name]: one } })
          await expectTextHeld(parameter, (one) => gateway.post(path, valid, init(one)))
        })
      }
    })
  }

  describe('of the form of createImageEdit', () => {
    const { properties = {} } = formSchema
    const lists = new Set(['image', 'image[]', 'models', 'models[]'])
    for (const [name, schema] of Object.entries(properties)) {
      if (name === 'prompt' || lists.has(name)) continue
      it(`hold for ${name}`, () =>
        expectTextHeld({ name, schema }, (value) => postForm([[name, value]])))
    }

    for (const name of lists) {
      it(`hold for ${name}`, async () => {
        const isImage = name.startsWith('image')
        const { minItems = 1, maxItems } = listOf(name)
        const send = (count: number) => {
          const values = Array<string | File>(count).fill(isImage ? pixelFile : 'gpt-image-2')
          return postForm(
            values.map((value) => [name, value]),
            isImage ? 0 : 1,
          )
        }
        for (const count of [minItems, maxItems!]) {
          expect((await read(await send(count))).status).to.equal(200)
        }
        for (const count of isImage ? [minItems - 1, maxItems! + 1] : [maxItems! + 1]) {
          const { status, error } = await read(await send(count))
          expect(status).to.equal(400)
          expect(error.param).to.match(isImage ? /^images?$/ : /^models$/)
        }
      })
    }

    /** The schema of a form field: an array, because a form may repeat a field. */
    function listOf(name: string): Schema {
      return alternatives(properties[name]!).find(({ type }) => type === 'array')!
    }

    function postForm(fields: [string, string | File][], images = 1): Promise<Response> {
      const body = new FormData()
      const given = new Map([
        ['model', 'gpt-image-2.6-sunburst'],
        ['prompt', 'a fox'],
      ])
      for (const [name] of fields) given.delete(name)
      for (const [name, value] of [...given, ...fields]) body.append(name, value)
      for (let count = 0; count < images; count++) body.append('image', pixelFile)
      return gateway.fetch('/v1/images/edits', { method: 'POST', body })
    }
  })

  for (const { id, base, models } of imageConfigs) {
    describe(`of ${id} in a chat`, () => {
      const schema = contract.components.schemas[id]!
      for (const [name, probes] of byMember(schema, base, models)) {
        const send: Send = (image_config, model = models[0]) =>
          gateway.post('/v1/chat/completions', { model, messages, image_config })
        const placed = probes.map((probe) => ({ ...probe, at: `.image_config${probe.at}` }))
        it(`hold for ${name}`, () => expectHeld(placed, send, models))
      }
    })
  }

  describe('of listModels', () => {
    const { path, parameters = [] } = operation('listModels')
    for (const parameter of parameters.map((one) => resolve(one))) {
      const { name } = parameter
      const query = (value: string) => `${name}=${encodeURIComponent(value)}`
      it(`hold for ${name}`, () =>
        expectTextHeld(parameter, (value) => gateway.fetch(`${path}?${query(value)}`)))

      if (parameter.in !== 'query') continue
      it(`refuse a repeated ${name}`, async () => {
        const one = query(String(sample(parameter.schema, words, name)))
        const { status, error } = await read(await gateway.fetch(`${path}?${one}&${one}`))
        expect({ status, ...error }).to.include({ status: 400, param: name, code: 'invalid_value' })
      })
    }

    it('refuse a misspelt parameter, and suggest the right name', async () => {
      const { status, error } = await read(await gateway.fetch(`${path}?limt=2`))
      const code = 'unknown_parameter'
      expect({ status, ...error }).to.include({ status: 400, param: 'limt', code })
      expect(error.message).to.include("'limit'")
    })
  })

  for (const { name, inputSchema } of tools) {
    it(`hold for the arguments of the tool ${name}`, () => {
      const check = toolChecks[name as keyof typeof toolChecks] as Check<unknown>
      const probes = memberProbes(inputSchema, sample(inputSchema, words) as object, words)
      const wrong = probes.filter(({ value, allowed }) => check(structuredClone(value)) !== allowed)
      expect(wrong).to.deep.equal([])
    })
  }
})

/** The probes of an object by member; probes of the object itself are under `the whole`. */
function byMember(schema: Schema, base: object, [model]: string[]): [string, Probe[]][] {
  const groups = Map.groupBy(
    memberProbes(schema, base, { ...words, model, models: model }),
    ({ at }) => /^\.(\w+)/.exec(at)?.[1] ?? 'the whole',
  )
  return [...groups]
}

async function expectHeld(probes: Probe[], send: Send, models: string[]): Promise<void> {
  const ask = (probe: Probe) =>
    probe.allowed ? complaintIfRefused(probe, send, models) : complaintIfAllowed(probe, send)
  const found: (string | null)[] = []
  // More at once are refused as overload.
  for (let at = 0; at < probes.length; at += 300)
    found.push(...(await Promise.all(probes.slice(at, at + 300).map(ask))))
  expect(found.filter((complaint) => complaint !== null).join('\n')).to.equal('')
}

/** Members that need a stored response, or a conversation, which the probes do not have. */
const stored = /"(previous_response_id|item_reference|compaction|compaction_trigger)"|"input":null/

/** Each allowed value must be accepted by at least one model. */
async function complaintIfRefused({ value }: Probe, send: Send, models: string[]) {
  if (stored.test(JSON.stringify(value))) return null
  let answers = ''
  for (const model of models) {
    const { status, text } = await read(await send(value, model))
    if (status === 200) return null
    answers += ` ${model}: ${text}`
  }
  return `${shown(value)} is allowed, but:${answers}`
}

async function complaintIfAllowed({ value, at, code }: Probe, send: Send) {
  const { status, error, text } = await read(await send(value, undefined))
  const isCode = code === undefined ? errors[400]!.codes.includes(error.code!) : error.code === code
  const param = error.param ?? ''
  // A wrong list or item may be read as another kind, so the complaint is about its item or its type.
  const isAbout = ['', '[0]', '.type'].some((more) => param === at.slice(1) + more)
  if (status === 400 && isAbout && isCode) return null
  return `${shown(value)} wants ${code ?? 'a complaint'} about ${at.slice(1)}, but: ${status} ${text}`
}

/** Probes a query or header parameter, whose values are all sent as text. */
async function expectTextHeld(
  { name, schema }: Pick<Parameter, 'name' | 'schema'>,
  send: (value: string) => Promise<Response>,
): Promise<void> {
  const probes = probesOf(schema, words, name)
  // Values of the wrong type are valid texts, so only other probes must be refused.
  const isText = resolve(schema).type === 'string' && resolve(schema).enum === undefined
  const passing = new Set(probes.filter(({ allowed }) => allowed).map(({ value }) => String(value)))
  for (const value of passing) {
    const { status, text } = await read(await send(value))
    expect(status, `${name}=${value}: ${text}`).to.equal(200)
  }
  const stopped = probes
    .filter(({ value }) => !isText || typeof value === 'string')
    .map(({ value }) => String(value))
  for (const value of stopped.filter((one) => !passing.has(one))) {
    const { status, error, text } = await read(await send(value))
    expect({ status, ...error }, `${name}=${value}: ${text}`).to.include({
      status: 400,
      param: name,
    })
    expect(errors[400]!.codes).to.include(error.code)
  }
}

/** Reads an answer and checks the form of its error, if any. */
async function read(response: Response) {
  const { status, headers } = response
  const text = await response.text()
  expect(headers.get('x-request-id')).to.match(/^req_/)
  if (status < 400) return { status, text, error: {} as ErrorBody }
  const error = errorIn(text)
  if (status === 400) expect(error.type).to.equal(errors[400]!.type)
  return { status, text, error }
}

function shown(value: unknown): string {
  return JSON.stringify(value).slice(0, 300)
}
