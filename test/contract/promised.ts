import { expect } from 'chai'
import { answerComplaints, received, type Answer } from '../support/answers.ts'
import type { OperationRow } from '../support/contract.ts'
import type { CallOptions, TestGateway } from '../support/gateway.ts'
import { pixel } from '../support/pixel.ts'
import { errors } from './document.ts'

const messages = [{ role: 'user', content: 'A lighthouse in a storm' }]
const chosen = { model: 'gpt-image-2.6-sunburst', prompt: 'A lighthouse in a storm' }
/** A request that each operation answers well. */
export const requests: Record<string, object> = {
  createImage: chosen,
  createImageEdit: { ...chosen, images: [{ image_url: pixel }] },
  createChatCompletion: { model: 'gpt-5-mini', messages },
  postMcp: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
}

/** Each status that `expectPromised` has seen of an operation, as `createImage 200`. */
export const answered = new Set<string>()

/** Asks for an operation, changed as a test wants it. */
export async function ask(
  gateway: TestGateway,
  { operationId: id, method, path }: OperationRow,
  change: object = {},
  init: CallOptions & { query?: string } = {},
): Promise<Answer> {
  const { query = '', ...more } = init
  const rest = path.startsWith('/api/') ? { key: gateway.adminKey, ...more } : more
  const place = id === 'retrieveRequest' ? path.replace('{id}', await recordedCall(gateway)) : path
  const url = place.replace('{model}', 'alibaba/qwen-image-plus') + query
  const whole = { ...requests[id], ...change }
  return received(
    id in requests
      ? await gateway.post(url, whole, rest)
      : await gateway.fetch(url, { method: method.toUpperCase(), ...rest }),
  )
}

const recorded = new WeakMap<TestGateway, string>()

/** The id of a call that is in the ledger of the first account; that of none when it takes no calls. */
async function recordedCall(gateway: TestGateway): Promise<string> {
  const known = recorded.get(gateway)
  if (known !== undefined) return known
  const path = '/v1/chat/completions'
  const answer = await gateway.post(path, requests['createChatCompletion']).catch(() => undefined)
  if (answer?.status !== 200) return 'req_none'
  const id = answer.headers.get('x-request-id')!
  recorded.set(gateway, id)
  return id
}

/** Other words for the same request, which the sandbox obeys. */
export function saying({ operationId: id }: OperationRow, words: string): object {
  if (id !== 'createChatCompletion') return { prompt: words }
  return { messages: [{ role: 'user', content: words }] }
}

/** An answer with this status, of which the contract promises all that it holds. */
export function expectPromised(row: OperationRow, answer: Answer, status: number): void {
  expect(answer.status, answer.text).to.equal(status)
  expect(answerComplaints(row.operationId, answer)).to.deep.equal([])
  answered.add(`${row.operationId} ${status}`)
  // The tool server's errors are those of JSON-RPC.
  if (status < 400 || row.path === '/mcp' || !(status in errors)) return
  const { error } = JSON.parse(answer.text) as { error: { type: string } }
  expect(error.type).to.equal(errors[status]!.type)
  expect(errors[status]!.codes).to.include(codeOf(answer))
}

export function codeOf({ text }: Answer): unknown {
  return (JSON.parse(text) as { error: { code: unknown } }).error.code
}
