import type { Answer } from '../../test/support/answers.ts'
import { readLedger } from '../../test/support/ledger-file.ts'
import { bodySchema, operations, tools } from '../../test/support/contract.ts'
import { pixel } from '../../test/support/pixel.ts'
import { sample, type Words } from '../../test/support/probes.ts'
import { allowedModel, type AccessKeys } from './access-keys.ts'
import type { Context, Failure, Outcome } from './attack.ts'
import { openLine, type Line } from './connection.ts'
import { createPool } from './pool.ts'
import { got, posted } from './questions.ts'
import { answerFaults } from './verdict.ts'

const concurrent = 16
/** The maximum number of image models to try, and the maximum number of other models. */
const modelsMax = { full: 12, quick: 1 }

type Listed = { id: string; owned_by: string; aliases?: string[]; output_modalities: string[] }
/** Makes a request that names a model in one member of the body or argument of a tool. */
type Place = (name: string, key: string) => Buffer

/** A key for one model must not call another model, by any spelling, member or endpoint. */
export async function forbiddenModels(
  { target, dose }: Context,
  { limited }: AccessKeys,
): Promise<Outcome> {
  const models = (await listed(target.url, target.liveKey)).filter(({ id }) => id !== allowedModel)
  const painters = models.filter(({ output_modalities: gives }) => gives.includes('image'))
  const others = models.filter((model) => !painters.includes(model))
  const max = modelsMax[dose]
  const chosen = [...painters.slice(0, max), ...others.slice(0, max)]
  const names = new Set(['auto', 'own/house-2', ...chosen.flatMap(spellings)])
  const requests = [
    ...places.flatMap((place) => [...names].map((name) => place(name, limited))),
    ...unnamed.map((write) => write(limited)),
  ]
  // Controls: the allowed model must answer, or the attack proves nothing.
  const controls = places.map((place) => place(allowedModel, limited))
  // Any key may read the description of a model, since the gateway calls no provider for it.
  const looks = [...names].map((name) =>
    got(`/v1/models/${encodeURIComponent(name)}`, { authorization: `Bearer ${limited}` }),
  )
  const failures: Failure[] = []
  const asked = new Map<string, Buffer>()
  const answered: Buffer[] = []
  const ask = async (line: Line, request: Buffer) => {
    const { answers, end } = await line.ask(request, { answersMax: 1 })
    const [answer] = answers
    if (answer === undefined) return void failures.push({ what: `No answer (${end}).`, request })
    asked.set(answer.headers.get('x-request-id') ?? '', request)
    const faults = answerFaults(answer, { operation: undefined, path: '', secrets: [limited] })
    failures.push(...faults.map((what) => ({ what, request })))
    if (isAnswered(answer)) answered.push(request)
  }
  const lines = Array.from({ length: concurrent }, () => openLine(target.url))
  const pool = createPool(lines)
  for (const request of [...controls, ...looks, ...requests]) {
    await pool.run((line) => ask(line, request))
  }
  await pool.idle()
  lines.forEach((line) => line.close())
  const silent = controls.filter((request) => !answered.includes(request))
  const harmless = new Set([...controls, ...looks])
  const reached = answered.filter((request) => !harmless.has(request))
  const seen = await listed(target.url, limited)
  const strays = seen.filter(({ id }) => id !== allowedModel)
  failures.push(
    ...silent.map((request) => ({ what: 'The allowed model does not answer.', request })),
    ...reached.map((request) => ({ what: 'A forbidden model answers.', request })),
    ...strays.map(({ id }) => ({
      what: `GET /v1/models lists ${id}.`,
      request: got('/v1/models'),
    })),
    ...ledgerFaults(target.dataDir, asked),
  )
  return { tried: asked.size + 1, failures }
}

async function listed(url: string, key: string): Promise<Listed[]> {
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(`${url}/v1/models`, { headers })
  // The attack `contract` checks that the body has the type in openapi.yaml.
  return ((await response.json()) as { data: Listed[] }).data
}

/** Calls of a forbidden model that reached a provider, whatever their answer was. */
function ledgerFaults(dataDir: string, asked: ReadonlyMap<string, Buffer>): Failure[] {
  const { rows } = readLedger(dataDir)
  return rows
    .filter(
      ({ id, model, provider }) => asked.has(id) && provider !== null && model !== allowedModel,
    )
    .map(({ id, model }) => ({ what: `A call of ${model} was made.`, request: asked.get(id)! }))
}

/** Whether a call succeeded; a tool reports failure in its result or as an error. */
function isAnswered({ status, text }: Answer): boolean {
  return status === 200 && !/"isError":true|"error":\{/.test(text)
}

/** Spellings of a model's name that parts of a gateway may read differently. */
function spellings({ id, owned_by: owner, aliases = [] }: Listed): string[] {
  const last = id.slice(id.indexOf('/') + 1)
  const own = [id, last, ...aliases, `${owner}/${last}`, `${owner}/${id}`, `models/${last}`]
  return own.flatMap((name) => [
    name,
    name.toUpperCase(),
    name.charAt(0).toUpperCase() + name.slice(1),
    ...[' ', '\t', '\n', '\u00a0', '\u200b', '\0'].flatMap((blank) => [
      `${blank}${name}`,
      `${name}${blank}`,
    ]),
    name.replaceAll('-', '_'),
    name.replaceAll('-', '.'),
    name.replaceAll('.', '-'),
    name.replaceAll('/', '//'),
    encodeURIComponent(name),
    `${name}/`,
    `${name}:latest`,
    `${name}-latest`,
    `${name}-2026-01-01`,
    `${allowedModel},${name}`,
    `${allowedModel}\n${name}`,
    `${allowedModel}/../../${name}`,
    `own/../${name}`,
    String.fromCharCode(name.charCodeAt(0) + 0xfee0) + name.slice(1),
  ])
}

const words: Words = { image_url: pixel, url: pixel, tool_call_id: 'call_1', name: 'paint' }

const namingTools = tools.filter(({ inputSchema }) => 'model' in (inputSchema.properties ?? {}))

/** Each member of a body or tool argument that names a model. */
const places: readonly Place[] = [
  ...operations.flatMap((operation) => {
    const schema = bodySchema(operation)
    const { model, models, input } = schema?.properties ?? {}
    if (schema === undefined || model === undefined) return []
    // An input is needed also where a stored response can take its place.
    const base = {
      ...(input !== undefined && { input: 'Hello.' }),
      ...(sample(schema, words) as object),
    }
    const write = (members: object, key: string) =>
      posted(operation.path, key, { body: { ...base, ...members } })
    const alone: Place = (name, key) => write({ model: name }, key)
    if (models === undefined) return [alone]
    const fallback: Place = (name, key) => write({ model: allowedModel, models: [name] }, key)
    const first: Place = (name, key) => write({ model: name, models: [allowedModel] }, key)
    return [alone, fallback, first]
  }),
  (name, key) => posted('/v1/images/edits', key, formWith(name)),
  ...namingTools.map(
    ({ name: tool, inputSchema }): Place =>
      (name, key) =>
        called(tool, { ...(sample(inputSchema, words) as object), model: name }, key),
  ),
]

/** Calls that leave the model to the gateway. */
const unnamed = [
  (key: string) => posted('/v1/images/generations', key, { body: { prompt: 'A fox' } }),
  ...tools
    .filter(({ name }) => !name.startsWith('list-'))
    .map(
      ({ name, inputSchema }) =>
        (key: string) =>
          called(name, sample(inputSchema, words) as object, key),
    ),
]

function called(name: string, values: object, key: string): Buffer {
  return posted('/mcp', key, {
    headers: [['accept', 'application/json, text/event-stream']],
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: values } },
  })
}

function formWith(model: string) {
  const boundary = 'attack-model'
  const part = (head: string, value: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n\r\n${value}\r\n`
  const fields = part('name="prompt"', 'A fox') + part('name="model"', model)
  const file = part('name="image"; filename="a.png"', '\0')
  const body = Buffer.concat([
    Buffer.from(fields + file.slice(0, -3)),
    Buffer.from(pixel.split(',')[1]!, 'base64'),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
  const headers = [['content-type', `multipart/form-data; boundary=${boundary}`]] as const
  return { headers, body }
}
