import { expect } from 'chai'
import { answerComplaints, received, type Answer } from '../support/answers.ts'
import type { OperationRow } from '../support/contract.ts'
import type { CallOptions, TestGateway } from '../support/gateway.ts'
import { errors } from './document.ts'
import { accessOf, hasBody, prepare, type Prepared } from './prepared.ts'

/** Operations and statuses that `expectPromised` has checked, such as `createImage 200`. */
export const answered = new Set<string>()
/** The bodies of the successful ones in JSON, by operation and status. */
export const answeredBodies = new Map<string, unknown[]>()
/** The errors of those answers as `formOf` gives them, by operation and status. */
export const answeredErrors = new Map<string, Set<string>>()

type Asking = CallOptions & {
  query?: string
  /** The result of `prepare`. By default `ask` calls `prepare`. */
  prepared?: Prepared
}

/** Sends a valid request of an operation, with changes. */
export async function ask(
  gateway: TestGateway,
  row: OperationRow,
  change: object = {},
  init: Asking = {},
): Promise<Answer> {
  const { query = '', prepared = await prepare(gateway, row), ...more } = init
  const rest: CallOptions = { ...credentialsOf(gateway, row), ...more }
  const headers = { ...prepared.headers, ...more.headers }
  const required = new URLSearchParams(prepared.query).toString()
  const url =
    pathOf(row, prepared.path) +
    (required === '' ? query : `?${required}${query.replace('?', '&')}`)
  const method = row.method.toUpperCase()
  return received(
    hasBody(row)
      ? await gateway.post(url, { ...prepared.body, ...change }, { method, ...rest, headers })
      : await gateway.fetch(url, { method, ...rest, headers }),
  )
}

/** The key for a valid request; null for operations that do not use keys. */
function credentialsOf(gateway: TestGateway, row: OperationRow): CallOptions {
  if (accessOf(row) !== 'caller') return { key: null }
  return row.path.startsWith('/api/') ? { key: gateway.adminKey } : {}
}

/** The path of an operation, with its parameters filled in. */
export function pathOf({ path }: OperationRow, values: Record<string, string> = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? `no_such_${name}`)
}

/** The member of a body that sets the prompt, which controls the sandbox. */
export function saying({ operationId: id }: OperationRow, words: string): object {
  const inputs = ['createResponse', 'compactResponse', 'createEmbedding', 'createModeration']
  if (inputs.includes(id)) {
    return { input: words }
  }
  if (id !== 'createChatCompletion' && id !== 'createMessage') return { prompt: words }
  return { messages: [{ role: 'user', content: words }] }
}

/** Statuses of Anthropic's API that differ from those of docs/behaviour.md#errors. */
const anthropicStatuses: Readonly<Record<number, number>> = { 410: 404, 503: 529 }

/** Expects an answer of this status, or of Anthropic's for it, that complies with the contract. */
export function expectPromised(row: OperationRow, answer: Answer, asked: number): void {
  const isAnthropics = row['x-error-form'] === 'messages'
  const status = (isAnthropics ? anthropicStatuses[asked] : undefined) ?? asked
  expect(answer.status, answer.text).to.equal(status)
  expect(answerComplaints(row.operationId, answer)).to.deep.equal([])
  const where = `${row.operationId} ${status}`
  answered.add(where)
  if (status < 300 && answer.headers.get('content-type')?.includes('json') === true)
    answeredBodies.set(where, [...(answeredBodies.get(where) ?? []), JSON.parse(answer.text)])
  if (status >= 400)
    answeredErrors.set(where, (answeredErrors.get(where) ?? new Set()).add(formOf(answer.text)))
  // Skips errors of the tool server, which are JSON-RPC errors.
  if (status < 400 || row.path === '/mcp' || !(asked in errors)) return
  const { type, code } = errorIn(answer.text)
  expect(errors[asked]!.codes).to.include(code)
  if (!isAnthropics) expect(type).to.equal(errors[asked]!.type)
}

export type ErrorBody = {
  message?: string
  type?: string
  param?: string | null
  code?: string | null
}
type AnthropicError = { type: string; details: { error_code: string; param: string | null } }
const members = ['message', 'type', 'param', 'code', 'request_id']

/** The error in a body, in the gateway's form or in Anthropic's. */
export function errorIn(text: string): ErrorBody {
  const { error } = JSON.parse(text) as { error: ErrorBody | AnthropicError }
  if (!('details' in error)) {
    expect(Object.keys(error)).to.include.members(members)
    return error
  }
  return { ...error, param: error.details.param, code: error.details.error_code }
}

export function codeOf({ text }: Answer): unknown {
  return errorIn(text).code
}

type AnyError = {
  type?: string
  message?: string
  code?: string | number | null
  param?: string | null
  details?: { error_code: string; param: string | null }
  data?: { type: string; code: string | null; param: string | null; request_id?: string }
}

/** Type, code, parameter and message of an error, without the names, numbers, paths and methods in it. */
export function formOf(text: string): string {
  // The cast is safe: all members are optional, and the schema of the answer is checked elsewhere.
  const { error } = JSON.parse(text) as { error: AnyError }
  const { type, message = '', code, param, details, data } = error
  const words = message
    .replace(/'[^']*'/g, "''")
    .replace(/\d[-\d.:TZ]*( \w+?)s?\b/g, '#$1')
    .replace(/\d[-\d.:TZ]*/g, '#')
    .replace(/\/[^\s,]+/g, '/')
    .replace(/\b\w+_\w+\b/g, 'id')
    .replace(/(Choose from) .*/, '$1')
    .replace(/\b[A-Z]{3,}(, [A-Z]{3,})*\b/g, 'METHOD')
  const ofTool = data && { type: data.type, code: data.code, param: data.param }
  return JSON.stringify({ type, code, param, details, data: ofTool, words })
}
