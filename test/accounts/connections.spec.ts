import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import type { Role } from '../../src/core/caller.ts'
import { storeConnection } from '../support/connections.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { keyCalls } from '../support/key-calls.ts'
import type { SignedInPerson } from '../support/people.ts'

type ApiKey = components['schemas']['ApiKey']
type Page = components['schemas']['ApiKeyList']

const client = {
  id: 'https://claude.ai/oauth/client-metadata',
  name: 'Claude',
  redirect_host: 'claude.ai',
}

forEachStore('a connection', () => {
  let gateway: TestGateway
  let accountId: string
  before(async () => (gateway = await startGateway({ bounds: { keyCacheMs: 0 } })))
  after(() => gateway.stop())
  beforeEach(async () => (accountId = await gateway.createAccount()))

  const adminKey = () => gateway.createKey('test', { scopes: ['admin'], accountId })
  const signIn = (role: Role) => gateway.people.signIn({ accountId, role })
  const connected = (createdBy: string | null = null) =>
    storeConnection(gateway, { createdBy, accountId })
  const asPerson = ({ headers }: SignedInPerson) => ({ key: null, headers })
  const list = async (person: SignedInPerson, query = '') => {
    const answer = await gateway.fetch(`/api/me/connections${query}`, asPerson(person))
    expect(answer.status).to.equal(200)
    return ((await answer.json()) as Page).data
  }
  const end = (person: SignedInPerson, id: string) =>
    gateway.fetch(`/api/me/connections/${id}`, { ...asPerson(person), method: 'DELETE' })
  const keyAs = async (id: string, key: string) =>
    (await (await gateway.fetch(`/api/keys/${id}`, { key })).json()) as ApiKey

  it('is listed with the keys, with its client, and separately by its kind', async () => {
    const admin = await adminKey()
    const id = await connected()
    const listed = async (query: string) => {
      const answer = await gateway.fetch(`/api/keys?${query}`, { key: admin })
      return ((await answer.json()) as Page).data
    }
    expect((await listed('')).map((one) => one.kind)).to.have.members(['key', 'connection'])
    const [one, ...others] = await listed('kind=connection')
    expect(others).to.deep.equal([])
    expect(one).to.deep.include({ id, kind: 'connection', name: 'Claude', client })
    const [key] = await listed('kind=key')
    expect(key).to.deep.include({ kind: 'key', client: null })
    expect(await listed('kind=client')).to.deep.equal([])
    const wrong = await gateway.fetch('/api/keys?kind=token', { key: admin })
    await expectError(wrong, { status: 400, code: 'invalid_value', param: 'kind' })
  })

  it('can be restricted like a key, and only calls models', async () => {
    const admin = await adminKey()
    const id = await connected()
    const { change } = keyCalls(gateway)
    const settings = {
      name: 'Claude of Ada',
      models: ['gpt-5-mini'],
      scopes: ['inference'],
      limits: { concurrency: 2 },
      budget: { usd: '5', period: 'month' },
    }
    const changed = (await (await change(admin, id, settings)).json()) as ApiKey
    expect(changed).to.deep.include({ name: 'Claude of Ada', models: ['gpt-5-mini'], client })
    expect(changed.limits.concurrency).to.equal(2)
    expect(changed.budget!.amount.usd).to.equal('5')
    for (const scope of ['admin', 'usage:read', 'keys:write']) {
      const refused = await change(admin, id, { scopes: ['inference', scope] })
      await expectError(refused, { status: 400, code: 'invalid_value', param: 'scopes' })
    }
    expect((await keyAs(id, admin)).scopes).to.deep.equal(['inference'])
  })

  it('has no secret to replace', async () => {
    const admin = await adminKey()
    const refused = await keyCalls(gateway).rotate(admin, await connected())
    const { message } = await expectError(refused, { status: 409, code: 'key_not_active' })
    expect(message).to.contain('DELETE')
  })

  for (const role of ['member', 'admin', 'owner'] as const) {
    it(`is visible to and ended by the ${role} who created it, in any account`, async () => {
      const person = await signIn(role)
      const elsewhere = await gateway.createAccount()
      await gateway.people.join(person.personId, elsewhere, 'member')
      const here = await connected(person.personId)
      const there = await storeConnection(gateway, {
        createdBy: person.personId,
        accountId: elsewhere,
      })
      await connected((await signIn('member')).personId)
      expect((await list(person)).map(({ id }) => id)).to.have.members([here, there])
      for (const id of [here, there, here]) expect((await end(person, id)).status).to.equal(204)
      expect((await list(person, '?state=active')).length).to.equal(0)
      expect((await list(person, '?state=revoked')).length).to.equal(2)
      const { data } = (await (
        await gateway.fetch('/api/audit?action=key.revoke', { key: await adminKey() })
      ).json()) as components['schemas']['AuditEventList']
      expect(data.map(({ target, by }) => [target, by])).to.deep.equal([[here, person.personId]])
    })
  }

  it('cannot be ended by others without `keys:write`, and the endpoint ends no keys', async () => {
    const creator = await signIn('owner')
    const id = await connected(creator.personId)
    const made = await keyCalls(gateway).made(await adminKey())
    await gateway.db
      .updateTable('api_keys')
      .set({ created_by: creator.personId })
      .where('id', '=', made.id)
      .execute()
    const notFound = { status: 404, code: 'not_found', param: 'id' }
    for (const [person, target] of [
      [await signIn('member'), id],
      [await signIn('owner'), id],
      [await gateway.people.signIn({ accountId: await gateway.createAccount() }), id],
      [creator, made.id],
      [creator, 'key_none'],
    ] as [SignedInPerson, string][]) {
      await expectError(await end(person, target), notFound)
    }
    const member = await signIn('member')
    const init = { ...asPerson(member), method: 'DELETE' }
    const refused = await gateway.fetch(`/api/keys/${id}`, init)
    await expectError(refused, { status: 403, code: 'insufficient_scope' })
    expect((await keyAs(id, await adminKey())).state).to.equal('active')
  })

  for (const [who, init, code] of [
    ['an anonymous caller', () => ({ key: null }), 'invalid_session'],
    [
      'a key, even one that may do everything',
      () => ({ key: gateway.adminKey }),
      'invalid_session',
    ],
    [
      'a page of another origin',
      (person: SignedInPerson) => ({
        key: null,
        headers: { ...person.headers, origin: 'https://evil.example' },
      }),
      'csrf_failed',
    ],
    [
      'a page without the token',
      ({ headers: { cookie } }: SignedInPerson) => ({ key: null, headers: { cookie } }),
      'csrf_failed',
    ],
  ] as [string, (person: SignedInPerson) => object, string][]) {
    it(`is not ended at /api/me by ${who}`, async () => {
      const person = await signIn('member')
      const id = await connected(person.personId)
      const path = `/api/me/connections/${id}`
      const refused = await gateway.fetch(path, { ...init(person), method: 'DELETE' })
      await expectError(refused, { status: code === 'csrf_failed' ? 403 : 401, code })
      if (code === 'invalid_session') {
        const unlisted = await gateway.fetch('/api/me/connections', init(person))
        await expectError(unlisted, { status: 401, code })
      }
      expect((await keyAs(id, await adminKey())).state).to.equal('active')
    })
  }

  it('can be ended like a key by a caller who may end keys', async () => {
    const admin = await adminKey()
    const ids = [await connected(), await connected((await signIn('member')).personId)]
    for (const id of ids) {
      expect((await keyCalls(gateway).revoke(admin, id)).status).to.equal(200)
      expect((await keyAs(id, admin)).state).to.equal('revoked')
    }
  })
})
