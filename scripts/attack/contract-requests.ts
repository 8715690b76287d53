import { gzipSync, brotliCompressSync } from 'node:zlib'
import fc from 'fast-check'
import {
  bodySchema,
  operations,
  resolve,
  type OperationRow,
  type Schema,
} from '../../test/support/contract.ts'
import { pixel } from '../../test/support/pixel.ts'
import { memberProbes, sample, type Words } from '../../test/support/probes.ts'
import { dictionary } from './dictionary.ts'
import { formBody } from './forms.ts'
import { hostileValue, mutated, mutation, textMutation } from './hostile-values.ts'
import type { HttpRequest } from './http-request.ts'
import { toolMessage } from './tool-messages.ts'

/** The credentials that requests use. */
export type Keys = {
  testKey: string
  liveKey: string
  operatorKey: string
  /** Another account, whose keys and requests appear in paths. */
  administrator: {
    key: string
    accountId: string
    keyIds: readonly string[]
    requestIds: readonly string[]
  }
  /** The headers of a signed-in person: session cookie and CSRF token. */
  person: readonly (readonly [string, string])[]
}

const words: Words = {
  model: 'own/house-1',
  models: 'gpt-5-mini',
  image_url: pixel,
  url: pixel,
  family: 'claude',
  tool_call_id: 'call_1',
  name: 'paint',
}

/** Requests to every operation of the contract: valid, or valid with up to three changes. */
export function contractRequests(keys: Keys): fc.Arbitrary<HttpRequest> {
  return fc.oneof(
    ...operations.map((operation) => ({
      weight: weights[operation.operationId] ?? 2,
      arbitrary: requestsTo(operation, keys),
    })),
  )
}

// Frequencies of operations. Images are rare, since an image takes the CPU time of a hundred refusals.
const weights: Record<string, number> = {
  createChatCompletion: 10,
  postMcp: 7,
  createImageEdit: 3,
  reloadSettings: 1,
}

function requestsTo(operation: OperationRow, keys: Keys): fc.Arbitrary<HttpRequest> {
  return fc
    .record({
      target: targetOf(operation, keys),
      headers: headersOf(operation, keys),
      body: bodyFor(operation),
      packing: oneOrRarely('identity', ['gzip', 'br', 'gzip, br', 'wrong', 'unknown'], 40),
    })
    .map(({ target, headers, body: { bytes, type }, packing }) => {
      const { name, body } = packed(bytes, packing)
      const described = type === undefined ? [] : [['content-type', type] as const]
      const packs = name === undefined ? [] : [['content-encoding', name] as const]
      // `headers` may repeat a name, which sends the header twice.
      return { ...target, headers: [...described, ...packs, ...headers], body }
    })
}

function oneOrRarely<T>(usual: T, rare: readonly T[], weight: number): fc.Arbitrary<T> {
  return fc.oneof(
    { weight, arbitrary: fc.constant(usual) },
    { weight: rare.length, arbitrary: fc.constantFrom(...rare) },
  )
}

function packed(bytes: Buffer, packing: string): { name?: string; body: Buffer } {
  if (packing === 'gzip') return { name: packing, body: gzipSync(bytes) }
  if (packing === 'br') return { name: packing, body: brotliCompressSync(bytes) }
  if (packing === 'gzip, br') return { name: packing, body: brotliCompressSync(gzipSync(bytes)) }
  if (packing === 'wrong') return { name: 'gzip', body: bytes }
  return packing === 'unknown' ? { name: 'x-none', body: bytes } : { body: bytes }
}

/** Method, path and query of a request; mostly valid for the operation. */
function targetOf(
  operation: OperationRow,
  keys: Keys,
): fc.Arbitrary<Pick<HttpRequest, 'operation' | 'method' | 'path'>> {
  const { method: given, path: pattern } = operation
  const method = given.toUpperCase()
  const path = namesFor(operation, keys).map((name) => pattern.replace(/\{\w+\}/, () => name))
  const query = fc.oneof(
    { weight: 6, arbitrary: fc.constant('') },
    { weight: 3, arbitrary: queryOf(operation) },
  )
  const own = fc
    .tuple(path, query)
    .map(([address, asked]) => ({ operation, method, path: address + asked }))
  const other = fc
    .tuple(
      fc.constantFrom(...dictionary.methods),
      fc.tuple(path, fc.webPath(), fc.constantFrom(...dictionary.pathEnds)),
    )
    .map(([verb, [address, web, end]]) => ({
      operation: undefined,
      method: verb,
      path: verb.length > 5 ? `${web || '/'}${end}` : address + end,
    }))
  return fc.oneof({ weight: 12, arbitrary: own }, { weight: 1, arbitrary: other })
}

/** Values of a path parameter, mostly names that exist. */
function namesFor({ path }: OperationRow, { administrator }: Keys): fc.Arbitrary<string> {
  const known: Record<string, readonly string[]> = {
    '/api/keys': administrator.keyIds,
    '/api/accounts': [administrator.accountId],
    '/api/requests': administrator.requestIds,
  }
  const start = Object.keys(known).find((one) => path.startsWith(one)) ?? ''
  return fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...(known[start] ?? ['alibaba/qwen-image-plus'])) },
    { weight: 5, arbitrary: fc.constantFrom('gpt-5-mini', '%00', 'a%2Fb', '..', '%') },
  )
}

function queryOf({ parameters = [] }: OperationRow): fc.Arbitrary<string> {
  const names = parameters
    .map((parameter) => resolve(parameter))
    .filter((parameter) => parameter.in === 'query')
    .map(({ name }) => name)
  const name = fc.constantFrom(...names, ...dictionary.queryNames)
  const value = fc.oneof(fc.constantFrom(...dictionary.queryValues), fc.webQueryParameters())
  return fc
    .array(
      fc.tuple(name, value).map(([key, given]) => `${key}=${given}`),
      { minLength: 1, maxLength: 4 },
    )
    .map((pairs) => `?${pairs.join('&')}`)
}

function headersOf(
  { parameters = [], path, operationId }: OperationRow,
  { testKey, liveKey, operatorKey, administrator, person }: Keys,
): fc.Arbitrary<(readonly [string, string])[]> {
  const own = parameters
    .map((parameter) => resolve(parameter))
    .filter((parameter) => parameter.in === 'header')
    .map(({ name }) => name)
  const bearer = (key: string) => ['authorization', `Bearer ${key}`] as const
  const ownKey = path.startsWith('/api/') ? administrator.key : testKey
  const key = oneOrRarely<readonly [string, string]>(
    bearer(operationId === 'createAccount' ? operatorKey : ownKey),
    [
      bearer(liveKey),
      ['x-api-key', liveKey],
      ['x-api-key', testKey],
      bearer(operatorKey),
      bearer(''),
      ['x-none', ''],
    ],
    14,
  )
  const name = fc.constantFrom(...own, ...dictionary.headerNames)
  const value = fc.oneof(
    fc.constantFrom(...dictionary.headerValues),
    fc.string({ maxLength: 30 }).map((text) => text.trim()),
    fc.nat(3000).map((length) => 'x'.repeat(length)),
  )
  const further = fc.array(fc.tuple(name, value), { maxLength: 3 })
  // Excludes deleteCurrentSession, which would end the session that other requests use.
  const isPersonal = personal.test(path) && operationId !== 'deleteCurrentSession'
  const credentials = isPersonal ? oneOrRarely(person, [[]], 6) : key.map((one) => [one])
  return fc
    .tuple(credentials, fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, further))
    .map(([first, others]) => [...first, ...others])
}

/** Paths that need a session; a key is refused. */
const personal = /^\/api\/(me|sessions\/)/

type Body = { bytes: Buffer; type: string | undefined }
const noBody: Body = { bytes: Buffer.alloc(0), type: undefined }

function bodyFor(operation: OperationRow): fc.Arbitrary<Body> {
  const schema = bodySchema(operation)
  if (schema === undefined) {
    const stray = { bytes: Buffer.from('{}'), type: 'application/json' }
    return oneOrRarely(noBody, [stray], 20)
  }
  const values = operation.operationId === 'postMcp' ? toolMessage : jsonValues(schema)
  const changed = fc.array(mutation, { maxLength: 3 })
  // Makes fewer changes to the small bodies of these operations, so that some stay valid.
  const isSmall = operation.path.startsWith('/api/')
  const changes = isSmall ? fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, changed) : changed
  const json = fc
    .tuple(values, changes, textMutation, contentType)
    .map(([value, wrong, write, type]) => ({
      bytes: write(JSON.stringify(wrong.reduce<unknown>(mutated, value)) ?? ''),
      type,
    }))
  const isForm = 'multipart/form-data' in operation.requestBody!.content
  return isForm ? fc.oneof(json, formBody) : json
}

const contentType = oneOrRarely<string | undefined>(
  'application/json',
  [...dictionary.contentTypes, `a/${'b'.repeat(3000)}`, undefined],
  120,
)

/** Bodies that combine probes of the contract's bounds. */
function jsonValues(schema: Schema): fc.Arbitrary<unknown> {
  const given = sample(schema, words) as object
  const hasModel = 'model' in (schema.properties ?? {})
  const base = hasModel ? { ...given, model: words['model'] } : given
  const probes = memberProbes(schema, base, words)
  const [all, good] = [probes, probes.filter(({ allowed }) => allowed)].map((some) => {
    const values = fc.constantFrom(...some.map(({ value }) => value as object))
    return fc.array(values, { minLength: 1, maxLength: 3 })
  }) as [fc.Arbitrary<object[]>, fc.Arbitrary<object[]>]
  const models = fc.constantFrom('own/house-1', 'gpt-5-mini', 'claude-sonnet-4-6', 'auto', 'x')
  return fc
    .tuple(
      hasModel ? all : fc.oneof(all, good),
      fc.oneof({ weight: 5, arbitrary: models }, { weight: 1, arbitrary: hostileValue }),
    )
    .map(([chosen, model]) => Object.assign({}, ...chosen, hasModel ? { model } : {}) as object)
}
