import { expect } from 'chai'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import type { SignedInPerson } from '../support/people.ts'
import { until } from '../support/until.ts'

type Key = {
  id: string
  key: string
  kind: string
  name: string
  mode: string
  scopes: string[]
  state: string
  hint: string
  expires_at: string
  account_id: string
  budget: object | null
}

const hourMs = 3_600_000
const picture = { model: 'gpt-image-1-mini', prompt: 'A lighthouse' }
const noSession = { status: 401, code: 'invalid_session' }
const noKey = { status: 401, code: 'invalid_api_key' }
const over = { status: 401, code: 'expired_api_key' }

forEachStore("a session's key", () => {
  let gateway: TestGateway
  let now: number
  let accountId: string
  let member: SignedInPerson
  let owner: SignedInPerson
  before(async () => {
    now = Date.parse('2026-11-22T12:00:00Z')
    gateway = await startGateway({ clock: () => now })
  })
  beforeEach(async () => {
    accountId = await gateway.createAccount()
    owner = await gateway.people.signIn({ accountId })
    member = await gateway.people.signIn({ accountId, role: 'member' })
  })
  after(() => gateway.stop())

  const send = (method: string, path: string, person: SignedInPerson, body?: object) =>
    gateway.fetch(path, {
      method,
      key: null,
      headers: { ...person.headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
  const ask = (person = member, query = '', mode = 'test') =>
    send('POST', `/api/sessions/current/key${query}`, person, { mode })
  const keyOf = async (person = member, query = '', mode = 'test') => {
    const response = await ask(person, query, mode)
    expect(response.status).to.equal(201)
    expect(response.headers.get('cache-control')).to.equal('no-store')
    return (await response.json()) as Key
  }
  const draw = (key: string) => gateway.post('/v1/images/generations', picture, { key })
  const listed = async (query: string) => {
    const response = await send('GET', `/api/keys${query}`, owner)
    return ((await response.json()) as { data: Key[] }).data
  }
  const stream = async (key: string) => {
    const response = await gateway.post(
      '/v1/chat/completions',
      {
        model: 'gpt-5-mini',
        stream: true,
        messages: [{ role: 'user', content: 'sandbox:slow-stream=300' }],
      },
      { key },
    )
    expect(response.status).to.equal(200)
    return response
  }

  it('only calls models, for the person and the account', async () => {
    const key = await keyOf()
    expect(key).to.include({
      kind: 'session',
      mode: 'test',
      state: 'active',
      account_id: accountId,
    })
    expect(key.name).to.equal('Playground of Somebody')
    expect(key.scopes).to.deep.equal(['inference'])
    expect(Date.parse(key.expires_at)).to.equal(now + hourMs)
    expect((await draw(key.key)).status).to.equal(200)
    const rows = await gateway.usage()
    expect(rows.at(-1)).to.include({ account_id: accountId, key_id: key.id, mode: 'test' })
    const refused = { status: 403, code: 'insufficient_scope' }
    for (const path of ['/api/keys', '/api/requests', '/api/members']) {
      const response = await gateway.fetch(path, { key: key.key })
      await expectError(response, refused)
    }
  })

  it('is renewed with a new secret in the same row', async () => {
    const first = await keyOf()
    expect((await draw(first.key)).status).to.equal(200)
    now += 1000
    const second = await keyOf()
    expect(second.id).to.equal(first.id)
    expect(Date.parse(second.expires_at)).to.equal(now + hourMs)
    await expectError(await draw(first.key), noKey)
    expect((await draw(second.key)).status).to.equal(200)
    const live = await keyOf(member, '', 'live')
    expect(live.id).not.to.equal(first.id)
    expect(live.key).to.match(/^mag_live_/)
    expect(await listed('?kind=session')).to.have.length(2)
  })

  it('is one row after concurrent requests', async () => {
    const asked = await Promise.all(Array.from({ length: 6 }, () => keyOf()))
    expect(new Set(asked.map(({ id }) => id)).size).to.equal(1)
    const works = await Promise.all(asked.map(({ key }) => draw(key)))
    expect(works.filter(({ status }) => status === 200)).to.have.length(1)
  })

  it('is listed only on request', async () => {
    const { id } = await keyOf()
    expect(await listed('')).to.deep.equal([])
    expect((await listed('?kind=session')).map((one) => one.id)).to.deep.equal([id])
  })

  it('is only for signed-in people and their own accounts', async () => {
    const post = (headers: Record<string, string>, key: string | null = null) =>
      gateway.post('/api/sessions/current/key', { mode: 'test' }, { key, headers })
    await expectError(await post({}), noSession)
    await expectError(await post({}, gateway.adminKey), noSession)
    const { cookie } = member.headers
    await expectError(await post({ cookie }), { status: 403, code: 'csrf_failed' })
    const elsewhere = { ...member.headers, origin: 'https://elsewhere.example' }
    await expectError(await post(elsewhere), { status: 403, code: 'csrf_failed' })
    const other = await gateway.createAccount()
    const notTheirs = { status: 404, code: 'not_found', param: 'account_id' }
    await expectError(await ask(member, `?account_id=${other}`), notTheirs)
    const operator = await gateway.people.signIn()
    await expectError(await ask(operator, `?account_id=${other}`), notTheirs)
    await gateway.people.join(member.personId, other, 'member')
    expect((await keyOf(member, `?account_id=${other}`)).account_id).to.equal(other)
  })

  it('ends after an hour', async () => {
    const { key } = await keyOf()
    now += hourMs - 1
    expect((await draw(key)).status).to.equal(200)
    now += 1
    const { message } = await expectError(await draw(key), over)
    expect(message).to.contain('POST /api/sessions/current/key')
  })

  it('ends with its session, and so do its running calls', async () => {
    const again = await gateway.people.signInAgain(member)
    const { key, id } = await keyOf()
    expect((await draw(key)).status).to.equal(200)
    const open = await stream(key)
    expect((await send('DELETE', '/api/sessions/current', member)).status).to.equal(204)
    await expectError(await draw(key), over)
    expect(await open.text()).to.contain('expired_api_key')
    expect(await listed('?kind=session&state=active')).to.deep.equal([])
    const renewed = await keyOf(again)
    expect(renewed.id).to.equal(id)
    const ended = await send('DELETE', `/api/sessions/${again.sessionId}`, again)
    expect(ended.status).to.equal(204)
    await expectError(await draw(renewed.key), over)
  })

  it('outlives other sessions of the person', async () => {
    const again = await gateway.people.signInAgain(member)
    const { key } = await keyOf()
    expect((await send('DELETE', '/api/sessions/current', again)).status).to.equal(204)
    expect((await draw(key)).status).to.equal(200)
  })

  it('ends with the membership, and not with a membership in another account', async () => {
    const other = await gateway.createAccount()
    await gateway.people.join(member.personId, other, 'member')
    const { key } = await keyOf()
    const { key: otherKey } = await keyOf(member, `?account_id=${other}`)
    const open = await stream(key)
    const removed = await send('DELETE', `/api/members/${member.personId}`, owner)
    expect(removed.status).to.equal(200)
    await expectError(await draw(key), over)
    expect((await draw(otherKey)).status).to.equal(200)
    expect(await open.text()).to.contain('expired_api_key')
  })

  it('keeps its budget and the spent amount after it ends and the person joins again', async () => {
    const first = await keyOf(member, '', 'live')
    const budget = { usd: '0.5', period: 'total' }
    const set = await send('PATCH', `/api/keys/${first.id}`, owner, { budget, models: ['gpt-5'] })
    expect(set.status).to.equal(200)
    await send('DELETE', `/api/keys/${first.id}`, owner)
    await send('DELETE', `/api/members/${member.personId}`, owner)
    await gateway.people.join(member.personId, accountId, 'member')
    const again = await gateway.people.signInAgain(member)
    const second = await keyOf(again, '', 'live')
    expect(second.id).not.to.equal(first.id)
    expect(second).to.have.deep.property('models', ['gpt-5'])
    expect(second.budget).to.deep.include({ owner_id: first.id, period: 'total' })
    await send('DELETE', `/api/keys/${second.id}`, owner)
    const third = await keyOf(again, '', 'live')
    expect(third.budget).to.deep.include({ owner_id: first.id, period: 'total' })
    expect((await keyOf(again)).budget).to.equal(null)
  })

  it('keeps the settings of administrators at each renewal, and ends when they revoke it', async () => {
    const { id, key } = await keyOf()
    const path = `/api/keys/${id}`
    const limits = { requests_per_minute: 1 }
    expect((await send('PATCH', path, owner, { limits })).status).to.equal(200)
    expect((await draw(key)).status).to.equal(200)
    const renewed = await keyOf()
    await expectError(await draw(renewed.key), { status: 429, code: 'rate_limit_exceeded' })
    const notForIt = { status: 400, code: 'invalid_value', param: 'scopes' }
    await expectError(await send('PATCH', path, owner, { scopes: ['inference'] }), notForIt)
    const rotation = await send('POST', `${path}/rotate`, owner, { overlap_minutes: 0 })
    await expectError(rotation, { status: 409, code: 'key_not_active' })
    expect((await send('DELETE', path, owner)).status).to.equal(200)
    await expectError(await draw(renewed.key), noKey)
    const next = await keyOf()
    expect(next.id).not.to.equal(id)
    // The new key is limited too, because limits and counted usage belong to the person.
    await expectError(await draw(next.key), { status: 429, code: 'rate_limit_exceeded' })
    await until('both are listed', async () => (await listed('?kind=session')).length === 2)
  })
})
