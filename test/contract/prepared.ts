import { operations as generated, type Access } from '../../generated/operations.ts'
import type { OperationRow } from '../support/contract.ts'
import type { TestGateway } from '../support/gateway.ts'
import { pixel } from '../support/pixel.ts'

/** What a request that is answered well needs. */
export type Prepared = {
  /** What stands in the place of the path's parameters. */
  path?: Record<string, string>
  body?: object
  headers?: Record<string, string>
}

const messages = [{ role: 'user', content: 'A lighthouse in a storm' }]
const chosen = { model: 'gpt-image-2.6-sunburst', prompt: 'A lighthouse in a storm' }
const person = { name: 'Ada Lovelace', password: 'correct horse battery' }
let made = 0
const newEmail = () => `new-${++made}@example.com`

/** By operation, what it needs besides credentials; each time anew, since some things happen once. */
const preparations: Record<string, (gateway: TestGateway) => Promise<Prepared>> = {
  createImage: async () => ({ body: chosen }),
  createImageEdit: async () => ({ body: { ...chosen, images: [{ image_url: pixel }] } }),
  createChatCompletion: async () => ({ body: { model: 'gpt-5-mini', messages } }),
  retrieveModel: async () => ({ path: { model: 'alibaba/qwen-image-plus' } }),
  retrieveRequest: async (gateway) => ({ path: { id: await recordedCall(gateway) } }),
  postMcp: async () => ({ body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }),
  setUp: async ({ people }) => ({
    body: { ...person, email: newEmail(), token: await people.setUpLink() },
  }),
  createSession: async ({ people, setUp }) => {
    const email = newEmail()
    await setUp({ ...person, email, token: await people.setUpLink() })
    return { body: { email, password: person.password } }
  },
  deleteSession: async ({ people }) => {
    const signedIn = await people.signIn()
    const { sessionId } = await people.signInAgain(signedIn)
    return { path: { session_id: sessionId }, headers: signedIn.headers }
  },
}

const recorded = new WeakMap<TestGateway, string>()

/** The id of a call that is in the ledger of the first account; that of none when it takes no calls. */
async function recordedCall(gateway: TestGateway): Promise<string> {
  const known = recorded.get(gateway)
  if (known !== undefined) return known
  const body = { model: 'gpt-5-mini', messages }
  const answer = await gateway.post('/v1/chat/completions', body).catch(() => undefined)
  if (answer?.status !== 200) return 'req_none'
  const id = answer.headers.get('x-request-id')!
  recorded.set(gateway, id)
  return id
}

/** Who may ask for an operation. */
export function accessOf({ operationId }: OperationRow): Access {
  return generated.find(({ id }) => id === operationId)!.access
}

/** Whether a request of an operation has a body. */
export function hasBody({ requestBody }: OperationRow): boolean {
  return requestBody !== undefined
}

/** Makes what a good request of an operation needs, without its HTTP. */
export async function prepare(gateway: TestGateway, row: OperationRow): Promise<Prepared> {
  const prepared = (await preparations[row.operationId]?.(gateway)) ?? {}
  if (accessOf(row) !== 'person' || prepared.headers !== undefined) return prepared
  const { headers } = await gateway.people.signIn()
  return { ...prepared, headers }
}
