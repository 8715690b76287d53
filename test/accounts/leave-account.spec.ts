import { expect } from 'chai'
import { storeConnection } from '../support/connections.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import type { SignedInPerson } from '../support/people.ts'

forEachStore('a member of an account', () => {
  let gateway: TestGateway
  let accountId: string
  let owner: SignedInPerson
  let admin: SignedInPerson
  let member: SignedInPerson
  beforeEach(async () => {
    gateway = await startGateway()
    accountId = await gateway.createAccount()
    owner = await gateway.people.signIn({ accountId })
    admin = await gateway.people.signIn({ accountId, role: 'admin' })
    member = await gateway.people.signIn({ accountId, role: 'member' })
  })
  afterEach(() => gateway.stop())

  const send = (method: string, path: string, { headers }: SignedInPerson) =>
    gateway.fetch(path, { method, key: null, headers })
  const leave = (person: SignedInPerson, id = accountId) =>
    send('DELETE', `/api/me/memberships/${id}`, person)

  it('can leave it with any role, and keeps other accounts', async () => {
    const elsewhere = await gateway.createAccount()
    await expectError(await leave(member, elsewhere), { status: 404, code: 'not_found' })
    await gateway.people.join(member.personId, elsewhere, 'owner')
    expect((await leave(member)).status).to.equal(204)
    await expectError(await leave(member), { status: 404, code: 'not_found' })
    await expectError(await leave(member, elsewhere), { status: 409, code: 'last_owner' })
    expect((await send('GET', '/api/members', member)).status).to.equal(200)
    expect((await leave(admin)).status).to.equal(204)
    // The session ends, because the person left their only account.
    const over = { status: 401, code: 'invalid_session' }
    await expectError(await send('GET', '/api/me', admin), over)
    const members = (await (await send('GET', '/api/members', owner)).json()) as {
      data: { id: string }[]
    }
    expect(members.data.map(({ id }) => id)).to.deep.equal([owner.personId])
    const { data } = (await (await send('GET', '/api/audit', owner)).json()) as {
      data: { action: string; by: string; target: string }[]
    }
    const left = data.filter(
      ({ action, by, target }) => action === 'member.delete' && by === target,
    )
    expect(left.map(({ target }) => target)).to.have.members([member.personId, admin.personId])
  })

  it('loses the connections to it, and can leave only with a session', async () => {
    const id = await storeConnection(gateway, { createdBy: member.personId, accountId })
    const forged = { ...member, headers: { ...member.headers, 'x-csrf-token': 'made up' } }
    await expectError(await leave(forged), { status: 403, code: 'csrf_failed' })
    expect((await leave(member)).status).to.equal(204)
    const key = await send('GET', `/api/keys/${id}`, owner)
    expect(((await key.json()) as { state: string }).state).to.equal('revoked')
  })
})
