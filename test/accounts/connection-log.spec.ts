import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { callTool, connectClient, textOf } from '../support/mcp-client.ts'
import { expectError } from '../support/expect-error.ts'
import { forEachStore } from '../support/each-store.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { authorize, register, registered } from '../support/oauth-client.ts'
import { ada, manyClients, peopleAt } from '../oauth/pages/people-at.ts'

type Schemas = components['schemas']
type Attempt = Schemas['RefusedAttempt']

const dayMs = 86_400_000

forEachStore('the connection log', () => {
  let gateway: TestGateway
  let now = 0
  beforeEach(async () => {
    now = Date.parse('2026-11-22T12:00:00Z')
    gateway = await startGateway({
      ...manyClients,
      clock: () => now,
      variables: { OPENAI_API_KEY: 'sk-not-one-of-theirs-000000000000' },
      bounds: { keyCacheMs: 0 },
    })
  })
  afterEach(() => gateway.stop())

  const listed = async <T>(path: string, init: Parameters<TestGateway['fetch']>[1] = {}) => {
    const answer = await gateway.fetch(path, { key: gateway.adminKey, ...init })
    expect(answer.status, path).to.equal(200)
    return ((await answer.json()) as { data: T[] }).data
  }
  const clients = (init?: Parameters<TestGateway['fetch']>[1]) =>
    listed<Schemas['ToolClient']>('/api/clients', init)
  const attempts = (init?: Parameters<TestGateway['fetch']>[1]) =>
    listed<Attempt>('/api/attempts', init)
  const unknown = () => listed<Attempt>('/api/attempts/unknown')
  const ask = (key: string, path = '/v1/models', headers: Record<string, string> = {}) =>
    gateway.fetch(path, { key, headers: { 'user-agent': 'Cursor/2.0.1 (linux)', ...headers } })
  const callAs = (agent: string, name: string) => {
    const params = { name, arguments: {} }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'user-agent': agent,
    }
    return gateway.fetch('/mcp', { method: 'POST', body, headers }).then((one) => one.text())
  }

  it('shows each client with its key and its last tool call', async () => {
    const client = await connectClient(gateway)
    const began = now
    now += 60_000
    await callTool(client, 'list-image-models')
    const [one, ...others] = await clients()
    expect(others).to.deep.equal([])
    expect(one).to.deep.include({
      object: 'tool_client',
      name: 'test',
      version: '1',
      connected_at: new Date(began).toISOString(),
      last_seen_at: new Date(now).toISOString(),
      last_tool: 'list-image-models',
      last_tool_at: new Date(now).toISOString(),
    })
    expect(one!.key).to.include({ name: 'test key', kind: 'key' })
    await client.close()
  })

  it('takes the name of a client from User-Agent if it sends none, and ignores unknown tools', async () => {
    await callAs('my-agent/3', 'list-models')
    await callAs('my-agent/3', 'no-such-tool')
    expect(await clients()).to.have.length(1)
    expect((await clients())[0]).to.include({ name: 'my-agent', version: '3' })
    expect((await clients())[0]).to.include({ last_tool: 'list-models', connected_at: null })
  })

  it('shows an account the attempts that it can fix, and counts equal ones in one row', async () => {
    const expired = await gateway.createKey('test', { expiresAt: now })
    const revoked = await gateway.createKey('test', { row: { revoked_at: now } })
    const elsewhere = await gateway.createKey('test', { networks: ['10.0.0.0/8'] })
    const budget = { budget_nano_usd: 0, budget_period: 'month' as const }
    const spent = await gateway.createKey('live', { row: budget })
    const bound = await gateway.createKey('test', { models: ['gpt-5-mini'] })
    for (let count = 0; count < 3; count++) await ask(expired, '/mcp')
    await ask(revoked)
    await ask(elsewhere)
    await ask(bound, '/api/keys')
    const picture = { model: 'gpt-image-2', prompt: 'a lighthouse' }
    await gateway.post('/v1/images/generations', picture, { key: spent })
    await gateway.post('/v1/images/generations', picture, { key: bound })
    await ask(await gateway.createKey('test', { scopes: ['usage:read'] }), '/mcp')
    const ofKind = async (kind: Attempt['kind']) => {
      const all = await listed<Attempt>(`/api/attempts?kind=${kind}`)
      expect(all.every((one) => one.kind === kind)).to.equal(true)
      return all.map(({ reason, face }) => `${reason} ${face}`)
    }
    expect(await ofKind('connect')).to.have.members([
      'key_expired mcp',
      'key_revoked v1',
      'address_not_allowed v1',
      'scope_missing mcp',
    ])
    expect(await ofKind('call')).to.have.members([
      'scope_missing api',
      'budget_spent v1',
      'model_not_allowed v1',
    ])
    const wrongKind = await gateway.fetch('/api/attempts?kind=all', { key: gateway.adminKey })
    await expectError(wrongKind, { status: 400, code: 'invalid_value', param: 'kind' })
    const found = new Map((await attempts()).map((one) => [one.reason, one]))
    expect([...found.keys()]).to.have.members([
      'key_expired',
      'key_revoked',
      'address_not_allowed',
      'scope_missing',
      'budget_spent',
      'model_not_allowed',
    ])
    const mended = found.get('key_expired')!
    expect(mended).to.deep.include({ face: 'mcp', header: 'authorization', times: 3 })
    expect(mended).to.deep.include({ client: { name: 'Cursor', version: '2.0.1' } })
    expect(mended.request_id).to.match(/^req_/)
    expect(mended.key).to.include({ name: 'test key', kind: 'key' })
    expect(await unknown()).to.deep.equal([])
  })

  it('shows a tool call that the budget did not cover', async () => {
    const budget = { budget_nano_usd: 0, budget_period: 'month' as const }
    const client = await connectClient(gateway, await gateway.createKey('live', { row: budget }))
    const answer = await callTool(client, 'generate-image', {
      prompt: 'a lighthouse',
      model: 'gpt-image-2',
    })
    expect(answer.isError, textOf(answer)).to.equal(true)
    expect(textOf(answer)).to.contain('budget')
    expect((await attempts()).map(({ reason, face }) => [reason, face])).to.deep.equal([
      ['budget_spent', 'mcp'],
    ])
    await client.close()
  })

  it('shows attempts without an account only to operators, without secrets', async () => {
    const secret = 'sk-proj-0123456789abcdefghijklmnopqrstuvwxyz'
    await ask(secret, '/v1/models', { 'user-agent': secret })
    await ask('wrong', '/mcp', { 'user-agent': '<b>\u202eabc</b>'.replace('\u202e', '') })
    await register(gateway, { client_name: 'Bad', redirect_uris: ['javascript:alert(1)'] })
    const { client_id: id } = await registered(gateway)
    await authorize(gateway, id, { redirect_uri: 'https://evil.example/callback' })
    const found = await unknown()
    expect(found.map(({ reason }) => reason)).to.have.members([
      'key_unknown',
      'key_unknown',
      'registration_refused',
      'authorization_refused',
    ])
    const wrong = found.find(({ reason }) => reason === 'authorization_refused')!
    expect(wrong).to.deep.include({ redirect_host: 'evil.example', face: 'oauth' })
    expect(wrong.client!.name).to.equal('Editor')
    expect(JSON.stringify(found)).to.not.contain('0123456789').and.to.not.contain('sk-proj')
    expect(await attempts()).to.deep.equal([])
    const other = await gateway.people.signIn({ accountId: await gateway.createAccount() })
    const refused = await gateway.fetch('/api/attempts/unknown', { ...other, key: null })
    expect(refused.status).to.equal(403)
  })

  it('shows an account that a person denied consent', async () => {
    const people = peopleAt(gateway)
    await people.post('/api/people', ada)
    const { visitor } = await people.arrive({ name: 'Editor' })
    await people.signIn(visitor)
    await visitor.press('deny')
    const row = await gateway.db
      .selectFrom('people')
      .innerJoin('members', 'person_id', 'people.id')
      .select('account_id')
      .where('email', '=', ada.email)
      .executeTakeFirstOrThrow()
    const path = `/api/attempts?account_id=${row.account_id}`
    const [denied] = await listed<Attempt>(path)
    expect(denied).to.deep.include({ reason: 'consent_denied', redirect_host: '127.0.0.1' })
    expect(denied!.client).to.deep.equal({ name: 'Editor', version: null })
  })

  it('shows members only their own keys, and other accounts nothing', async () => {
    const member = await gateway.people.signIn({ role: 'member' })
    const own = await gateway.createKey('test', {
      expiresAt: now,
      row: { created_by: member.personId },
    })
    await ask(own)
    await ask(await gateway.createKey('test', { expiresAt: now }))
    expect(await attempts()).to.have.length(2)
    const seen = await attempts({ headers: member.headers, key: null })
    expect(seen.map(({ key }) => key!.id)).to.have.length(1)
    const accountId = await gateway.createAccount()
    const stranger = await gateway.people.signIn({ accountId })
    expect(await attempts({ headers: stranger.headers, key: null })).to.deep.equal([])
    expect(await clients({ headers: stranger.headers, key: null })).to.deep.equal([])
  })

  it('is bounded in number and age', async () => {
    const accountId = await gateway.createAccount()
    const more = await Promise.all(
      Array.from({ length: 30 }, async (_, at) => {
        const key = await gateway.createKey('test', { accountId, expiresAt: now })
        for (let face = 0; face < 8; face++) {
          await ask(key, '/v1/models', { 'user-agent': `agent-${at}-${face}/1` })
        }
        return key
      }),
    )
    expect(more).to.have.length(30)
    await unknown()
    const count = async () => {
      const rows = await gateway.db.selectFrom('refused_attempts').select('id').execute()
      return rows.length
    }
    expect(await count()).to.equal(200)
    now += 31 * dayMs
    await ask('wrong')
    expect(await unknown()).to.have.length(1)
    expect(await count()).to.equal(1)
  })

  it('is bounded in memory before it is written', async () => {
    await gateway.stop()
    const bounds = { keyCacheMs: 0, connectionLogWaitingMax: 4 }
    gateway = await startGateway({ clock: () => now, bounds })
    const expired = await gateway.createKey('test', { expiresAt: now })
    for (const at of [1, 2, 3, 4, 5]) {
      now += 1000
      await ask(expired, '/v1/models', { 'user-agent': `agent-${at}/1` })
    }
    const names = (await attempts()).map(({ client }) => client?.name)
    expect(names).to.deep.equal(['agent-4', 'agent-3', 'agent-2', 'agent-1'])
  })

  it('keeps the last 20 clients of a key, for 400 days', async () => {
    for (let at = 1; at <= 21; at++) {
      now += 1000
      await callAs(`agent-${at}/1`, 'list-models')
    }
    const names = (await clients()).map(({ name }) => name)
    expect(names).to.have.length(20)
    expect(names[0]).to.equal('agent-21')
    expect(names).to.not.include('agent-1')
    now += 401 * dayMs
    await ask('wrong')
    expect(await clients()).to.deep.equal([])
  })

  it('keeps the last 500 attempts without an account, for a week', async () => {
    for (let at = 1; at <= 501; at++) {
      await ask('wrong', '/v1/models', { 'user-agent': `agent-${at}/1` })
    }
    await unknown()
    const rows = () => gateway.db.selectFrom('refused_attempts').select('id').execute()
    expect(await rows()).to.have.length(500)
    now += 8 * dayMs
    await ask('wrong')
    await unknown()
    expect(await rows()).to.have.length(1)
  })
})
