import { expect } from 'chai'
import type { Role, Scope } from '../../src/core/caller.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hello } from '../support/own-endpoint.ts'
import type { SignedInPerson } from '../support/people.ts'

const notAllowed = { status: 403, code: 'insufficient_scope' }

forEachStore('a key that administers', (kind) => {
  let gateway: TestGateway
  let replica: TestGateway | undefined
  let accountId: string
  let owner: SignedInPerson
  let creator: SignedInPerson
  beforeEach(async () => {
    // Look-ups of keys stay cached for the whole test, so that only the check of each change can refuse.
    const bounds = { keyCacheMs: 60_000, keyRecheckMs: 60_000 }
    gateway = await startGateway({ bounds })
    // With SQLite there is no replica, because only one gateway can use a folder.
    replica = kind === 'sqlite' ? undefined : await startGateway({ bounds, beside: gateway })
    accountId = await gateway.createAccount()
    owner = await gateway.people.signIn({ accountId })
    creator = await gateway.people.signIn({ accountId, role: 'admin' })
  })
  afterEach(async () => {
    await replica?.stop()
    await gateway.stop()
  })

  type Made = { id: string; key: string }
  const send = (method: string, path: string, person: SignedInPerson, body?: object) =>
    gateway.fetch(path, {
      method,
      key: null,
      headers: { ...person.headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
  const make = async (scopes: Scope[], person = creator): Promise<Made> => {
    const response = await send('POST', '/api/keys', person, { name: 'ci', mode: 'test', scopes })
    expect(response.status).to.equal(201)
    return (await response.json()) as Made
  }
  const remove = async () => {
    const response = await send('DELETE', `/api/members/${creator.personId}`, owner)
    expect(response.status).to.equal(200)
    return (await response.json()) as { id: string; object: string; keys: { data: Made[] } }
  }
  const give = async (role: Role) => {
    const response = await send('PATCH', `/api/members/${creator.personId}`, owner, { role })
    expect(response.status).to.equal(200)
  }
  const invite = (key: string, at = gateway) =>
    at.post('/api/members', { email: creator.email, role: 'admin' }, { key })
  const makeAnother = (key: string, at = gateway) =>
    at.post('/api/keys', { name: 'more', mode: 'test' }, { key })
  const chat = (key: string) =>
    gateway.post('/v1/chat/completions', { model: 'gpt-5-mini', messages: hello }, { key })

  it('stops on every replica as soon as its creator is removed', async () => {
    const { key } = await make(['admin', 'inference'])
    for (const at of [gateway, replica ?? gateway]) {
      expect((await at.fetch('/api/members', { key })).status).to.equal(200)
    }
    await remove()
    for (const at of [gateway, replica ?? gateway]) {
      const { message } = await expectError(await invite(key, at), notAllowed)
      expect(message).to.contain('because its creator no longer has it')
      await expectError(await makeAnother(key, at), notAllowed)
      await expectError(await at.fetch('/api/usage', { key }), notAllowed)
    }
    expect((await chat(key)).status).to.equal(200)
    await gateway.people.join(creator.personId, accountId, 'admin')
    expect((await gateway.fetch('/api/members', { key })).status).to.equal(200)
  })

  it('works only while its creator has the role', async () => {
    const { key } = await make(['admin', 'inference'])
    const { key: writer } = await make(['keys:write', 'usage:read', 'inference'])
    const { key: second } = (await (await makeAnother(key)).json()) as Made
    await give('member')
    for (const one of [key, writer]) await expectError(await makeAnother(one), notAllowed)
    await expectError(await invite(key), notAllowed)
    expect((await gateway.fetch('/api/usage', { key: writer })).status).to.equal(200)
    expect((await chat(second)).status).to.equal(200)
    await give('owner')
    expect((await makeAnother(writer)).status).to.equal(201)
  })

  it("depends on the same person when it was created with that person's key", async () => {
    const { key } = await make(['admin'])
    const body = { name: 'second', mode: 'test', scopes: ['admin'] }
    const { key: second } = (await (await gateway.post('/api/keys', body, { key })).json()) as Made
    await remove()
    await expectError(await invite(second), notAllowed)
  })

  it('keeps working if its creator is unknown', async () => {
    const key = await gateway.createKey('test', { accountId, scopes: ['admin'] })
    await remove()
    expect((await invite(key)).status).to.equal(201)
  })

  it('of an operator works in other accounts while the creator is an operator', async () => {
    const operator = await gateway.people.signIn({ role: 'admin' })
    const query = `?account_id=${accountId}`
    const body = { name: 'ops', mode: 'test', scopes: ['admin'] }
    const made = await send('POST', `/api/keys${query}`, operator, body)
    const { key } = (await made.json()) as Made
    expect((await invite(key)).status).to.equal(409)
    expect((await makeAnother(key)).status).to.equal(201)
    const { key: own } = await make(['admin'], operator)
    expect((await gateway.fetch(`/api/members${query}`, { key: own })).status).to.equal(200)
    const first = await gateway.people.signIn()
    const path = `/api/members/${operator.personId}`
    expect((await send('PATCH', path, first, { role: 'member' })).status).to.equal(200)
    await expectError(await makeAnother(key), notAllowed)
    const elsewhere = await gateway.fetch(`/api/members${query}`, { key: own })
    await expectError(elsewhere, { status: 404, code: 'not_found' })
    await expectError(await gateway.fetch('/api/accounts', { key: own }), notAllowed)
  })

  it('is listed in the response that removes its creator', async () => {
    const kept = await make(['admin', 'inference'])
    const ended = await make(['inference'])
    await send('DELETE', `/api/keys/${ended.id}`, owner)
    await make(['inference'], owner)
    const { id, object, keys } = await remove()
    expect({ id, object }).to.deep.equal({ id: creator.personId, object: 'removed_member' })
    expect(keys.data.map((one) => one.id)).to.deep.equal([kept.id])
    expect(keys.data[0]).to.not.have.property('key')
    const path = `/api/keys?state=active&created_by=${creator.personId}`
    const listed = (await (await send('GET', path, owner)).json()) as typeof keys
    expect(listed.data.map((one) => one.id)).to.deep.equal([kept.id])
  })
})
