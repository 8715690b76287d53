import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { expect } from 'chai'
import { sql } from 'kysely'
import { readAnswer } from '../support/answers.ts'
import { bufferedBytes, nothingBuffered } from '../support/buffered.ts'
import { setBudgetOfKey } from '../support/budgets.ts'
import { operation, operations as all, ownOperations as operations } from '../support/contract.ts'
import { makeFolder } from '../support/folder.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { modernHeaders, modernRequest } from '../support/modern-mcp.ts'
import { openConnection, sendRaw } from '../support/raw-connection.ts'
import { until } from '../support/until.ts'
import { accessOf, hasBody, prepare, type Prepared } from './prepared.ts'
import { ask, expectPromised, pathOf, saying } from './promised.ts'

/** Tables with credentials, in an order in which SQLite can drop the tables. */
const tables = [
  'sessions',
  'members',
  'invitations',
  'setup_links',
  'password_links',
  'passkeys',
  'people',
  'api_keys',
]
const creating = operations.filter(
  ({ operationId: id, path }) => /^(create|compact)/.test(id) && path.startsWith('/v1/'),
)

const isRefusedByShare = ({ responses }: (typeof operations)[number]) =>
  JSON.stringify(responses['429'] ?? '').includes('/AccountBusy"')

/** Operations that check a password or token, which an attacker could guess. */
const guessed = operations.filter(
  (row) =>
    // Read-only operations check no password or token.
    (row.method !== 'get' &&
      row.operationId !== 'startPasskeySession' &&
      ['public', 'anyone'].includes(accessOf(row))) ||
    ['changePassword', 'startPasskey'].includes(row.operationId),
)
/** The member to change in each attempt. For signUp any request counts as an attempt. */
const guessedIn: Record<string, string> = {
  createSession: 'password',
  createPasskeySession: 'id',
  changePassword: 'current_password',
  startPasskey: 'current_password',
  signUp: 'name',
}

const user = { role: 'user', content: 'Hello.' }

describe('every operation under a fault or a limit', () => {
  let gateway: TestGateway | undefined
  afterEach(async () => {
    await gateway?.stop()
    gateway = undefined
  })

  it('answers 500 as promised when the store fails', async () => {
    const { path, remove } = makeFolder()
    gateway = await startGateway({
      variables: { DATA_DIR: path },
      bounds: { keyCacheMs: 0 },
    })
    const database = new DatabaseSync(join(path, 'gateway.db'), { timeout: 5000 })
    // Prepares one request after another, because a new set-up link revokes the previous link.
    const prepared: Prepared[] = []
    for (const row of operations) prepared.push(await prepare(gateway, row))
    for (const table of tables) database.exec(`DROP TABLE ${table}`)
    database.close()
    for (const [index, row] of operations.entries()) {
      // A signed link and a challenge need none of these tables.
      const isApart = ['retrieveImageFile', 'startPasskeySession'].includes(row.operationId)
      const status = isApart ? 200 : 500
      expectPromised(row, await ask(gateway, row, {}, { prepared: prepared[index]! }), status)
    }
    remove()
  })

  it('answers 503 as promised when it is busy', async () => {
    // The drain timeout is short, because the aborted call continues after its caller disconnects.
    const limits = { concurrent_requests_max: 1, drain_timeout_ms: 100 }
    gateway = await startGateway({ file: { limits } })
    const leaving = new AbortController()
    const { signal } = leaving
    // Repeats the call until it is admitted, because a probe may be running at the same time.
    const hold = async (): Promise<void> => {
      const row = operation('createChatCompletion')
      const { status } = await ask(gateway!, row, saying(row, 'sandbox:delay=60000'), { signal })
      if (status === 503) await hold()
    }
    const held = hold().catch(() => undefined)
    const models = operation('listModels')
    await until('busy', async () => (await ask(gateway!, models)).status === 503)
    for (const row of operations) expectPromised(row, await ask(gateway, row), 503)
    leaving.abort()
    await held
  })

  it('answers 413 as promised when a body is too large', async () => {
    gateway = await startGateway({ file: { limits: { request_bytes_max: 1024 } } })
    for (const row of operations.filter(hasBody)) {
      const answer = await ask(gateway, row, {}, { body: ' '.repeat(1025) })
      expectPromised(row, answer, 413)
    }
  })

  it('answers 409 as promised when the idempotency key is in use, or was used for another request', async () => {
    gateway = await startGateway()
    const headers = { 'idempotency-key': 'a-key' }
    const used = await ask(gateway, operation('createImage'), {}, { headers })
    expect(used.status).to.equal(200)
    for (const row of creating) {
      const other = await ask(gateway, row, saying(row, 'A windmill'), { headers })
      expectPromised(row, other, 409)
      const both = { 'idempotency-key': row.operationId }
      const slow = saying(row, 'sandbox:delay=200')
      const answers = await Promise.all(
        [1, 2].map(() => ask(gateway!, row, slow, { headers: both })),
      )
      const [, refused] = answers.sort((a, b) => a.status - b.status)
      expectPromised(row, refused!, 409)
      expect(refused!.headers.get('retry-after')).to.equal('1')
    }
  })

  it('answers 402 as promised when the budget is spent', async () => {
    gateway = await startGateway({ variables: { OPENAI_API_KEY: 'sk-never-used' } })
    const { liveKey: key } = gateway
    await setBudgetOfKey(gateway, key, { nanoUsd: 0, period: 'month' })
    // Moderations are free.
    for (const row of creating.filter(({ operationId: id }) => id !== 'createModeration')) {
      const answer = await ask(gateway, row, {}, { key })
      expectPromised(row, answer, 402)
      expect(answer.headers.get('x-should-retry')).to.equal('false')
    }
  })

  it('answers 429 as promised when running calls hold the money of the budget', async () => {
    const bounds = { budgetWaitMaxMs: 0 }
    gateway = await startGateway({ variables: { OPENAI_API_KEY: 'sk-never-used' }, bounds })
    const { liveKey: key, db } = gateway
    await setBudgetOfKey(gateway, key, { nanoUsd: 1e12, period: 'month' })
    const [id, at] = [sql.lit('req_other'), sql.lit(Date.now())]
    await sql`insert into reservations (request_id, account_id, key_id, nano_usd, at, expires_at)
      select ${id}, account_id, id, budget_nano_usd, ${at}, ${at} + 60000
      from api_keys where budget_nano_usd is not null`.execute(db)
    for (const row of creating.filter(({ operationId: one }) => one !== 'createModeration')) {
      const answer = await ask(gateway, row, {}, { key })
      expectPromised(row, answer, 429)
      expect(answer.headers.get('retry-after')).to.equal('2')
    }
  })

  it('answers 429 as promised when the account exceeds its rate limit', async () => {
    gateway = await startGateway({ file: { limits: { requests_per_minute: 1 } } })
    await ask(gateway, creating[0]!)
    const counting = [operation('countMessageTokens'), operation('countResponseTokens')]
    for (const row of [...creating, ...counting]) {
      const answer = await ask(gateway, row)
      expectPromised(row, answer, 429)
      expect(answer.headers.get('x-ratelimit-remaining-requests')).to.equal('0')
    }
    const tool = operation('postMcp')
    expectPromised(tool, await ask(gateway, tool, {}, { body: '{' }), 429)
  })

  it('answers as promised with limits of each kind, again for the same idempotency key, and in the background', async () => {
    const limits = { requests_per_minute: 500, tokens_per_minute: 1e9, images_per_minute: 500 }
    gateway = await startGateway({ file: { limits } })
    for (const row of creating) {
      const headers = { 'idempotency-key': row.operationId }
      expectPromised(row, await ask(gateway, row, {}, { headers }), 200)
      const again = await ask(gateway, row, {}, { headers })
      expectPromised(row, again, 200)
      expect(again.headers.get('idempotent-replayed')).to.equal('true')
    }
    const row = operation('createResponse')
    expectPromised(row, await ask(gateway, row, { background: true }), 200)
    const tool = operation('postMcp')
    const call = { name: 'chat', arguments: { model: 'gpt-5-mini', messages: [user] } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call })
    expectPromised(tool, await ask(gateway, tool, {}, { body }), 200)
  })

  it('answers 429 as promised to too many provider states, and 404 for an unknown model', async () => {
    gateway = await startGateway()
    const row = operation('setSandboxState')
    const unknown = { state: 'a stored response', params: { model: 'no-such-model' } }
    expectPromised(row, await ask(gateway, row, unknown), 404)
    let answer = await ask(gateway, row)
    for (let made = 0; answer.status === 200 && made < 100; made++) answer = await ask(gateway, row)
    expectPromised(row, answer, 429)
  })

  it('answers 429 as promised to too many wrong passwords and links', async () => {
    for (const row of guessed) {
      await gateway?.stop()
      gateway = await startGateway()
      const prepared = await prepare(gateway, row)
      const wrong = { [guessedIn[row.operationId] ?? 'token']: 'wrong' }
      let answer = await ask(gateway, row, wrong, { prepared })
      if (answer.status === 401) expectPromised(row, answer, 401)
      for (let tries = 0; answer.status !== 429 && tries < 100; tries++) {
        answer = await ask(gateway, row, wrong, { prepared })
      }
      expectPromised(row, answer, 429)
    }
  })

  it('answers 429 as promised when the account holds too many streams', async () => {
    gateway = await startGateway({ file: { limits: { event_streams_per_account_max: 1 } } })
    const row = operation('getMcp')
    const headers = { accept: 'text/event-stream' }
    const leaving = new AbortController()
    await gateway.fetch('/mcp', { headers, signal: leaving.signal })
    expectPromised(row, await ask(gateway, row, {}, { headers }), 429)
    const post = operation('postMcp')
    const listen = modernRequest('subscriptions/listen', {
      notifications: { toolsListChanged: true },
    })
    const body = JSON.stringify(listen)
    const named = modernHeaders('subscriptions/listen')
    expectPromised(post, await ask(gateway, post, {}, { headers: named, body }), 429)
    leaving.abort()
  })

  it('answers 408 as promised to an incomplete request, and 431 to too many headers', async () => {
    const headOf = (row: (typeof operations)[number]) =>
      `${row.method.toUpperCase()} ${pathOf(row)} HTTP/1.1\r\nhost: gateway\r\n`
    const tooLong = `x-long: ${'x'.repeat(40_000)}\r\n\r\n`
    for (const { status, end, limits } of [
      { status: 431, end: tooLong, limits: {} },
      { status: 408, end: '', limits: { request_timeout_ms: 100 } },
    ]) {
      await gateway?.stop()
      gateway = await startGateway({ file: { limits } })
      const { url } = gateway
      const answers = await Promise.all(all.map((row) => sendRaw(url, headOf(row) + end)))
      for (const [index, row] of all.entries()) {
        expectPromised(row, readAnswer(answers[index]!), status)
      }
    }
  })

  it('answers 429 as promised when requests of the account use its share of the memory', async () => {
    const bounds = { slowPeerGraceMs: 60_000 }
    gateway = await startGateway({ file: { limits: { buffered_bytes_max: 1_048_576 } }, bounds })
    const { url, adminKey, testKey } = gateway
    for (const row of operations.filter(isRefusedByShare)) {
      const prepared = await prepare(gateway, row)
      const key = row.path.startsWith('/api/') ? adminKey : testKey
      const headers = {
        ...(accessOf(row) === 'caller' && { authorization: `Bearer ${key}` }),
        ...prepared.headers,
        'content-length': '500000',
      }
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
      const path = pathOf(row, prepared.path)
      const socket = await openConnection(url)
      socket.write(
        `${row.method.toUpperCase()} ${path} HTTP/1.1\r\nhost: gateway\r\ncontent-type: application/json\r\n${lines.join('')}\r\n`,
      )
      const held = gateway
      await until('it is held', async () => (await bufferedBytes(held)) >= 500_000)
      const padding = 'x'.repeat(150_000)
      const answer = await ask(gateway, row, { padding }, { prepared })
      expectPromised(row, answer, 429)
      expect(answer.headers.get('retry-after')).to.equal('1')
      socket.destroy()
      await nothingBuffered(gateway)
    }
  })

  it('answers 504 as promised when the provider takes too long', async () => {
    const limits = { image_timeout_ms: 100, chat_timeout_ms: 100 }
    gateway = await startGateway({ file: { limits } })
    for (const row of creating) {
      expectPromised(row, await ask(gateway, row, saying(row, 'sandbox:delay=60000')), 504)
    }
  })
})
