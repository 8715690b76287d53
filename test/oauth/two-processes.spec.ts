import { request } from 'node:http'
import { expect } from 'chai'
import type { ApiKeysTable } from '../../src/storage/tables.ts'
import { readEvents } from '../support/event-stream.ts'
import { expectError } from '../support/expect-error.ts'
import { forEachStore } from '../support/each-store.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openMessageStream } from '../support/message-stream.ts'
import { expectNoAdministration } from '../support/no-administration.ts'
import { createPkce, registered } from '../support/oauth-client.ts'
import { until } from '../support/until.ts'
import { ada, peopleAt } from './pages/people-at.ts'
import { createVisitor } from './pages/visitor.ts'

const callback = 'http://127.0.0.1:33418/'
/** The documented time within which a revocation applies in all processes. */
const promisedMs = 2000
const begin = Date.parse('2026-11-22T12:00:00Z')

type Answered = { status: number; body: Record<string, string> }

forEachStore('a connection in two processes of a gateway', () => {
  let now: number
  let a: TestGateway
  let b: TestGateway
  let visitor: ReturnType<typeof createVisitor>
  let clientId: string
  before(async () => {
    now = begin
    // Tests set the clock. Intervals between lookups follow the machine's monotonic clock.
    const options = {
      clock: () => now,
      monotonic: () => performance.now(),
      bounds: { keyCacheMs: 500, keyRecheckMs: 500 },
    }
    a = await startGateway(options)
    b = await startGateway({ ...options, beside: a })
    await peopleAt(a).post('/api/people', ada)
    visitor = createVisitor(a)
    clientId = (await registered(a, { redirect_uris: [callback] })).client_id
    await visitor.open(authorizePath('none'))
    await peopleAt(a).signIn(visitor)
  })
  after(async () => {
    await b?.stop()
    await a?.stop()
  })

  const authorizePath = (challenge: string) =>
    `/oauth/authorize?${String(
      new URLSearchParams({
        client_id: clientId,
        redirect_uri: callback,
        response_type: 'code',
        code_challenge: challenge === 'none' ? createPkce().challenge : challenge,
        code_challenge_method: 'S256',
        state: 's',
      }),
    )}`
  /** Allows the client in the first process. Returns the form that exchanges the code. */
  const codeFor = async () => {
    const { verifier, challenge } = createPkce()
    const page = await visitor.open(authorizePath(challenge))
    expect(page.html).to.contain('Connect this application?')
    await visitor.press('allow')
    const back = await peopleAt(a).goOn(visitor)
    return {
      grant_type: 'authorization_code',
      client_id: clientId,
      code: back.searchParams.get('code')!,
      redirect_uri: callback,
      code_verifier: verifier,
    }
  }
  /** Sends a request to a process with the host of the first, as a load balancer does. */
  const ask = (at: TestGateway, path: string, fields: Record<string, string>) =>
    new Promise<Answered>((resolve, reject) => {
      const headers = {
        host: new URL(a.url).host,
        'content-type': 'application/x-www-form-urlencoded',
      }
      const asked = request(at.url + path, { method: 'POST', headers }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        response.on('end', () => {
          const body = (text === '' ? {} : JSON.parse(text)) as Answered['body']
          resolve({ status: response.statusCode!, body })
        })
      })
      asked.on('error', reject).end(String(new URLSearchParams(fields)))
    })
  const tokensFor = async () => {
    const { status, body } = await ask(b, '/oauth/token', await codeFor())
    expect(status, JSON.stringify(body)).to.equal(200)
    return { access: body['access_token']!, refresh: body['refresh_token']! }
  }
  const refresh = (at: TestGateway, token: string) =>
    ask(at, '/oauth/token', {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: token,
    })
  const models = (at: TestGateway, key: string) => at.fetch('/v1/models', { key })

  it('returns its tokens once, also for four concurrent exchanges of the code', async () => {
    for (let round = 0; round < 5; round++) {
      const fields = await codeFor()
      const answers = await Promise.all([a, b, a, b].map((at) => ask(at, '/oauth/token', fields)))
      const [first, ...others] = answers.toSorted((one, other) => one.status - other.status)
      expect(first!.status, JSON.stringify(first!.body)).to.equal(200)
      for (const { status, body } of others)
        expect([status, body['error']]).to.deep.equal([400, 'invalid_grant'])
      // The connection still works after the refused exchanges.
      expect((await models(b, first!.body['access_token']!)).status).to.equal(200)
    }
  })

  it('ends when its code is used again, in any process', async () => {
    const fields = await codeFor()
    const { body } = await ask(a, '/oauth/token', fields)
    const key = body['access_token']!
    expect((await models(b, key)).status).to.equal(200)
    expect((await ask(b, '/oauth/token', fields)).body).to.include({ error: 'invalid_grant' })
    await expectError(await models(b, key), { status: 401, code: 'invalid_token' })
  })

  it('is renewed by concurrent refreshes, and ends when a refresh token is used too late', async () => {
    const { access, refresh: token } = await tokensFor()
    const answers = await Promise.all([a, b, a].map((at) => refresh(at, token)))
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200])
    const keys = [access, ...answers.map(({ body }) => body['access_token']!)]
    for (const key of keys) expect((await models(a, key)).status).to.equal(200)
    now += 119_000
    expect((await refresh(b, token)).status).to.equal(200)
    now += 2000
    expect((await refresh(b, token)).body).to.include({ error: 'invalid_grant' })
    for (const key of keys)
      await expectError(await models(b, key), { status: 401, code: 'invalid_token' })
    const newest = answers[0]!.body['refresh_token']!
    expect((await refresh(a, newest)).body).to.include({ error: 'invalid_grant' })
  })

  it('has one successor for a refresh token that is used twice, so that theft is detected', async () => {
    const { refresh: stolen } = await tokensFor()
    const uses = await Promise.all(
      Array.from({ length: 40 }, (_, n) => refresh(n % 2 ? a : b, stolen)),
    )
    expect(new Set(uses.map(({ status }) => status))).to.deep.equal(new Set([200]))
    const successors = new Set(uses.map(({ body }) => body['refresh_token']!))
    expect(successors.size).to.equal(1)
    const [second] = successors
    now += 60_000
    const later = await refresh(b, stolen)
    expect(later.body['refresh_token']).to.equal(second)
    // Within the grace period the owner and the thief get the same token.
    const owner = await refresh(a, second!)
    const thief = await refresh(b, second!)
    expect(owner.body['refresh_token']).to.be.a('string').and.not.equal(second)
    expect(thief.body['refresh_token']).to.equal(owner.body['refresh_token'])
    const key = (await refresh(a, owner.body['refresh_token']!)).body['access_token']!
    now += 121_000
    expect((await refresh(b, thief.body['refresh_token']!)).body).to.include({
      error: 'invalid_grant',
    })
    await expectError(await models(a, key), { status: 401, code: 'invalid_token' })
    const rows = JSON.stringify(await a.db.selectFrom('oauth_artifacts').selectAll().execute())
    for (const token of [stolen, second!]) expect(rows).to.not.include(token)
  })

  const endings: [by: string, end: (row: ApiKeysTable, token: string) => Promise<number>][] = [
    [
      'an administrator',
      async ({ id, account_id: account }) => {
        const path = `/api/keys/${id}?account_id=${account}`
        return (await a.fetch(path, { method: 'DELETE', key: a.adminKey })).status
      },
    ],
    [
      'the client',
      async (_row, token) => (await ask(a, '/oauth/revoke', { client_id: clientId, token })).status,
    ],
  ]
  for (const [by, end] of endings) {
    it(`ends a stream of the other process when ${by} revokes it`, async () => {
      const { access } = await tokensFor()
      const connections = await peopleAt(a).connectionsOf(clientId)
      const row = connections.find((one) => one.revoked_at === null)!
      await b.db.updateTable('api_keys').set({ mode: 'test' }).where('id', '=', row.id).execute()
      const body = JSON.stringify({
        model: 'gpt-5-mini',
        messages: [{ role: 'user', content: 'sandbox:slow-stream' }],
        stream: true,
      })
      const stream = await openMessageStream(() =>
        b.fetch('/v1/chat/completions', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          key: access,
          body,
        }),
      )
      await until('the stream has started', () => stream.text().includes('data: '))
      expect(await end(row, access)).to.equal(200)
      const from = performance.now()
      await stream.ended
      expect(performance.now() - from).to.be.below(promisedMs)
      const last = JSON.parse(readEvents(stream.text()).at(-1)!.data!) as object
      expect(last).to.have.nested.property('error.code', 'invalid_token')
      const listed = await a.fetch(`/api/requests?account_id=${row.account_id}`, {
        key: a.adminKey,
      })
      expect(await listed.json()).to.have.nested.property('data[0].key_name', 'Editor')
      await until(
        'the key is looked up again',
        async () => (await models(b, access)).status === 401,
      )
      expect(performance.now() - from).to.be.below(promisedMs)
    })
  }

  it('gives no access to administration, and describes itself at /api/key', async () => {
    const { access: key } = await tokensFor()
    await expectNoAdministration(b, key)
    const own = await b.fetch('/api/key', { key })
    expect(await own.json()).to.deep.include({ mode: 'live', scopes: ['inference'] })
  })
})
