import { randomUUID } from 'node:crypto'
import { operations as generated, type Access } from '../../generated/operations.ts'
import { digestOf } from '../../src/accounts/api-key.ts'
import { cassetteRequests } from '../support/cassettes.ts'
import { storeConnection } from '../support/connections.ts'
import type { OperationRow } from '../support/contract.ts'
import type { TestGateway } from '../support/gateway.ts'
import { passkeyRequests, withPassword } from '../support/passkey-requests.ts'
import { pixel } from '../support/pixel.ts'
import { pictureLink } from './picture-link.ts'

/** Parts of a valid request, besides credentials. */
export type Prepared = {
  /** Values of path parameters, by name. */
  path?: Record<string, string>
  /** Query parameters that the operation requires. */
  query?: Record<string, string>
  body?: object
  headers?: Record<string, string>
}

const messages = [{ role: 'user', content: 'A lighthouse in a storm' }]
const chosen = { model: 'gpt-image-2.6-sunburst', prompt: 'A lighthouse in a storm' }
const person = { name: 'Ada Lovelace', password: 'correct horse battery' }
let made = 0
const newEmail = () => `new-${++made}@example.com`

/** Prepares a valid request by operation; each call makes new objects, because some can be used only once. */
const preparations: Record<string, (gateway: TestGateway, adminKey: string) => Promise<Prepared>> =
  {
    createAccount: async () => ({ body: { ...named, budget: { usd: '2.5', period: 'month' } } }),
    retrieveAccount: async (gateway, key) => ({ path: { id: await accountOf(gateway, key) } }),
    updateAccount: async (gateway, key) => ({
      path: { id: await accountOf(gateway, key) },
      body: named,
    }),
    createKey: async () => ({ body: newKey }),
    retrieveKey: async (gateway, key) => ({ path: { id: await madeKey(gateway, key) } }),
    updateKey: async (gateway, key) => ({
      path: { id: await madeKey(gateway, key) },
      body: { limits: { concurrency: 2 } },
    }),
    revokeKey: async (gateway, key) => ({ path: { id: await madeKey(gateway, key) } }),
    rotateKey: async (gateway, key) => ({
      path: { id: await madeKey(gateway, key) },
      body: { overlap_minutes: 0 },
    }),
    createImage: async () => ({ body: chosen }),
    createImageEdit: async () => ({ body: { ...chosen, images: [{ image_url: pixel }] } }),
    quotePrice: async () => ({ body: { operation: 'createImage', request: chosen } }),
    createEmbedding: async () => ({ body: { model: 'text-embedding-3-small', input: 'A fox' } }),
    setSandboxState: async () => ({ body: { state: 'a valid key' } }),
    createModeration: async () => ({ body: { input: 'A fox' } }),
    createChatCompletion: async () => ({ body: { model: 'gpt-5-mini', messages } }),
    createResponse: async () => ({ body: { model: 'gpt-5-mini', input: 'Hello.' } }),
    compactResponse: async () => ({ body: { model: 'gpt-5-mini', input: 'Hello.' } }),
    countResponseTokens: async () => ({ body: { model: 'gpt-5-mini', input: 'Hello.' } }),
    createMessage: async () => ({ body: { model: 'gpt-5-mini', max_tokens: 100, messages } }),
    countMessageTokens: async () => ({ body: { model: 'gpt-5-mini', messages } }),
    retrieveModel: async () => ({ path: { model: 'alibaba/qwen-image-plus' } }),
    retrieveImageFile: async (gateway, key) =>
      pictureLink(gateway, key, await storedJob(gateway, key)),
    retrieveImageJob: async (gateway, key) => ({ path: await storedJob(gateway, key) }),
    deleteImageJob: async (gateway, key) => ({ path: await storedJob(gateway, key) }),
    cancelImageJob: async (gateway, key) => ({ path: await storedJob(gateway, key) }),
    streamImageJob: async (gateway, key) => ({ path: await storedJob(gateway, key) }),
    retrieveResponse: async (gateway, key) => ({ path: await storedResponse(gateway, key) }),
    deleteResponse: async (gateway, key) => ({ path: await storedResponse(gateway, key) }),
    cancelResponse: async (gateway, key) => ({
      path: await storedResponse(gateway, key, { background: true }),
    }),
    listResponseInputItems: async (gateway, key) => ({ path: await storedResponse(gateway, key) }),
    retrieveRequest: async (gateway, key) => ({ path: { id: await recordedCall(gateway, key) } }),
    postMcp: async () => ({ body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }),
    replaceStoredSettings: async () => ({ body: { content: 'aliases: {fast: gpt-5-mini}' } }),
    reconcileCosts: async () => ({
      body: { content: 'usage_date_utc,model,cost_usd\n2026-11-01,a,1' },
    }),
    createProviderKey: async ({ db }) => {
      await db.deleteFrom('provider_keys').execute()
      return { path: offline, body: newProviderKey }
    },
    deleteProviderKey: async (gateway) => {
      await gateway.db.deleteFrom('provider_keys').execute()
      const { adminKey: key } = gateway
      const path = `/api/providers/${offline.provider_id}/keys`
      const { id = 'pvk_none' } = await created(gateway.post(path, newProviderKey, { key }))
      return { path: { ...offline, id } }
    },
    testProviderKey: async () => ({ path: offline, body: newProviderKey }),
    setUp: async ({ people }) => ({
      body: { ...person, email: newEmail(), token: await people.setUpLink() },
    }),
    createSession: async ({ people, setUp }) => {
      const email = newEmail()
      await setUp({ ...person, email, token: await people.setUpLink() })
      return { body: { email, password: person.password } }
    },
    createSessionKey: async () => ({ body: { mode: 'test' } }),
    signUp: async () => ({ body: { ...person, email: newEmail() } }),
    inviteMember: async () => ({ body: { email: newEmail(), role: 'admin' } }),
    updateMember: async (gateway, key) => ({
      path: { id: await memberOf(gateway, key) },
      body: { role: 'admin' },
    }),
    removeMember: async (gateway, key) => ({ path: { id: await memberOf(gateway, key) } }),
    createPasswordLink: async (gateway, key) => ({ path: { id: await memberOf(gateway, key) } }),
    resetPassword: async ({ people }) => {
      const { token } = await people.passwordLink((await people.signIn()).email)
      return { body: { token, new_password: person.password } }
    },
    withdrawInvitation: async (gateway, key) => {
      const { id } = await gateway.people.invite(newEmail(), await accountOf(gateway, key))
      return { path: { id } }
    },
    describeInvitation: async ({ people }) => {
      const { token } = await people.invite(newEmail())
      return { body: { token } }
    },
    acceptInvitation: async ({ people }) => {
      const { token } = await people.invite(newEmail())
      return { body: { ...person, token } }
    },
    ...cassetteRequests,
    createWebhook: async () => ({ body: newWebhook }),
    retrieveWebhook: async (gateway, key) => ({ path: await webhookOf(gateway, key) }),
    updateWebhook: async (gateway, key) => ({
      path: await webhookOf(gateway, key),
      body: { enabled: true },
    }),
    deleteWebhook: async (gateway, key) => ({ path: await webhookOf(gateway, key) }),
    rotateWebhookSecret: async (gateway, key) => ({ path: await webhookOf(gateway, key) }),
    testWebhook: async (gateway, key) => ({ path: await webhookOf(gateway, key) }),
    listWebhookDeliveries: async (gateway, key) => ({ path: await webhookOf(gateway, key) }),
    redeliverWebhook: async (gateway, key) => {
      const { id } = await webhookOf(gateway, key)
      return { path: { id, delivery_id: eventOf(id) } }
    },
    updateMe: async () => ({ body: { name: 'Ada King' } }),
    ...passkeyRequests,
    changePassword: async (gateway) => {
      const headers = await withPassword(gateway, person.password)
      const body = { current_password: person.password, new_password: 'staples of the battery' }
      return { body, headers }
    },
    endConnection: async (gateway) => {
      const { personId: createdBy, headers } = await gateway.people.signIn()
      return { path: { id: await storeConnection(gateway, { createdBy }) }, headers }
    },
    leaveAccount: async (gateway) => {
      const id = await gateway.createAccount()
      const { headers } = await gateway.people.signIn({ accountId: id, role: 'member' })
      return { path: { id }, headers }
    },
    deleteSession: async ({ people }) => {
      const signedIn = await people.signIn()
      const { sessionId } = await people.signInAgain(signedIn)
      return { path: { session_id: sessionId }, headers: signedIn.headers }
    },
  }

const named = { name: 'Harbour office' }
/** A vendor with a closed port as its address. */
const offline = { provider_id: 'cerebras' }
const newProviderKey = { key: 'csk-0123456789abcdef' }
/** An address that is public and needs no name server; no test sends to it. */
const newWebhook = {
  name: 'shop server',
  url: 'https://1.1.1.1/hook',
  mode: 'live',
  events: ['response.completed'],
}
const newKey = { name: 'build server', mode: 'test' }

async function accountOf({ db }: TestGateway, key: string): Promise<string> {
  const { account_id: id } = await db
    .selectFrom('api_keys')
    .select('account_id')
    .where('digest', '=', digestOf(key))
    .executeTakeFirstOrThrow()
  return id
}

async function madeKey(gateway: TestGateway, key: string): Promise<string> {
  return (await created(gateway.post('/api/keys', newKey, { key }))).id ?? 'key_none'
}

/** A webhook with a delivery that has ended; its secret cannot be decrypted, so that nothing is sent. */
async function webhookOf(gateway: TestGateway, key: string): Promise<{ id: string }> {
  const { db } = gateway
  const [id, accountId] = [`whk_${randomUUID()}`, await accountOf(gateway, key)]
  const { name, url } = newWebhook
  const own = { id, account_id: accountId, kind: 'webhook', name, url, mode: 'live' } as const
  const events = JSON.stringify(newWebhook.events)
  await db
    .insertInto('webhooks')
    .values({
      ...own,
      events,
      enabled: 1,
      gone_at: null,
      encryption_key_id: 'none',
      ciphertext: new Uint8Array(40),
      previous_secret_until: null,
      created_at: 1,
      created_by: 'usr_1',
    })
    .execute()
  await db
    .insertInto('webhook_deliveries')
    .values({
      id: eventOf(id),
      webhook_id: id,
      account_id: accountId,
      type: 'response.completed',
      object_id: 'resp_1',
      created_at: 1,
      state: 'failed',
      next_at: null,
      claimed: 0,
      tries: 1,
      attempts: '[]',
    })
    .execute()
  return { id }
}

const eventOf = (webhookId: string) => webhookId.replace('whk', 'evt')

async function memberOf(gateway: TestGateway, key: string): Promise<string> {
  const accountId = await accountOf(gateway, key)
  return (await gateway.people.signIn({ accountId, role: 'member' })).personId
}

type Created = { id?: string }

async function created(asked: Promise<Response>): Promise<Created> {
  return (await (await asked).json()) as Created
}

const recorded = new Map<string, string>()

/** The request id of a call with this key; `req_none` if the gateway refuses calls. */
async function recordedCall(gateway: TestGateway, key: string): Promise<string> {
  const known = recorded.get(key)
  if (known !== undefined) return known
  const body = { model: 'gpt-5-mini', messages }
  const answer = await gateway.post('/v1/chat/completions', body, { key }).catch(() => undefined)
  if (answer?.status !== 200) return 'req_none'
  const id = answer.headers.get('x-request-id')!
  recorded.set(key, id)
  return id
}

/** The id of a new image job; one that does not exist if the gateway refuses calls. */
async function storedJob(gateway: TestGateway, key: string): Promise<Record<string, string>> {
  const headers = { prefer: 'respond-async', 'cache-control': 'no-store' }
  const path = '/v1/images/generations'
  const answer = await gateway.post(path, chosen, { key, headers }).catch(() => undefined)
  if (answer?.status !== 202) return { job_id: `imgjob_${'0'.repeat(32)}` }
  return { job_id: ((await answer.json()) as { id: string }).id }
}

/** The id of a new stored response; `resp_none` if the gateway refuses calls. */
async function storedResponse(
  gateway: TestGateway,
  key: string,
  more: object = {},
): Promise<Record<string, string>> {
  const body = { model: 'gpt-5-mini', input: 'A lighthouse in a storm', ...more }
  const answer = await gateway.post('/v1/responses', body, { key }).catch(() => undefined)
  if (answer?.status !== 200) return { response_id: 'resp_none' }
  return { response_id: ((await answer.json()) as { id: string }).id }
}

/** The credentials that an operation requires. */
export function accessOf({ operationId }: OperationRow): Access {
  return generated.find(({ id }) => id === operationId)!.access
}

/** Whether a request of an operation has a body. */
export function hasBody({ requestBody }: OperationRow): boolean {
  return requestBody !== undefined
}

/**
 * Makes the objects that a valid request of an operation needs, in the account of an admin key; returns the
 * parts of the request.
 */
export async function prepare(
  gateway: TestGateway,
  row: OperationRow,
  adminKey = gateway.adminKey,
): Promise<Prepared> {
  const prepared = (await preparations[row.operationId]?.(gateway, adminKey)) ?? {}
  if (accessOf(row) !== 'person' || prepared.headers !== undefined) return prepared
  const { headers } = await gateway.people.signIn()
  return { ...prepared, headers }
}
