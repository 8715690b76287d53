import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import type { SignedInPerson } from '../support/people.ts'
import { forEachStore } from '../support/each-store.ts'

const grace = { name: 'Grace', password: 'correct horse battery' }
const notAllowed = { status: 403, code: 'insufficient_scope' }
const badToken = { status: 400, code: 'invalid_value', param: 'token' }

type Invited = { id: string; token: string; link: string; email: string }
type Listed = { data: { id: string; role: string; email: string }[] }

forEachStore('members and invitations', () => {
  let gateway: TestGateway
  let now: number
  let accountId: string
  let owner: SignedInPerson
  let admin: SignedInPerson
  let member: SignedInPerson
  beforeEach(async () => {
    now = Date.parse('2026-11-22T12:00:00Z')
    const bounds = { invitationsPerAccountMax: 3 }
    gateway = await startGateway({ clock: () => now, bounds })
    accountId = await gateway.createAccount()
    owner = await gateway.people.signIn({ accountId })
    admin = await gateway.people.signIn({ accountId, role: 'admin' })
    member = await gateway.people.signIn({ accountId, role: 'member' })
  })
  afterEach(() => gateway.stop())

  /** Sends a request as a person, or without credentials. */
  const send = (method: string, path: string, person?: SignedInPerson, body?: object) =>
    gateway.fetch(path, {
      method,
      key: null,
      headers: { ...person?.headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
  const invite = async (body: object = {}, person = owner) => {
    const response = await send('POST', '/api/members', person, {
      email: 'grace@example.com',
      role: 'member',
      ...body,
    })
    return (await response.json()) as Invited
  }
  const accept = (body: object, person?: SignedInPerson) =>
    send('POST', '/api/invitations/accept', person, body)
  const listed = async (path: string, person = owner) =>
    ((await (await send('GET', path, person)).json()) as Listed).data
  const roleOf = async ({ personId }: SignedInPerson) =>
    (await listed('/api/members')).find(({ id }) => id === personId)?.role

  it('join by a link, with any letter case of their e-mail', async () => {
    const { link, token, ...invitation } = await invite({ email: 'GRACE@example.com' })
    expect(link).to.match(/^http:\/\/.+\/dashboard\/invitations#token=/)
    expect(link).to.contain(token)
    const open = await listed('/api/invitations')
    expect(open).to.deep.equal([{ ...invitation, email: 'grace@example.com', role: 'member' }])
    const response = await accept({ token, ...grace })
    expect(response.status).to.equal(201)
    const cookie = response.headers.get('set-cookie')!.split(';')[0]!
    const me = await gateway.fetch('/api/me', { key: null, headers: { cookie } })
    const { memberships } = (await me.json()) as { memberships: object[] }
    expect(memberships).to.have.length(1)
    expect(memberships[0]).to.include({ account_id: accountId, role: 'member' })
    expect(await listed('/api/invitations')).to.deep.equal([])
    const names = (await listed('/api/members')).map(({ email }) => email)
    expect(names).to.include('grace@example.com')
  })

  it('join once by one invitation, even with concurrent requests', async () => {
    const { token } = await invite()
    const tries = Array.from({ length: 10 }, () => accept({ token, ...grace }))
    const statuses = (await Promise.all(tries)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 201)).to.have.length(1)
    expect((await listed('/api/members')).length).to.equal(4)
    const refused = await expectError(await accept({ token, ...grace }), badToken)
    expect(refused.message).to.contain('accepted')
  })

  it('learn why an invitation cannot be accepted', async () => {
    const expectReason = async (token: string, reason: string) => {
      const { message } = await expectError(await accept({ token, ...grace }), badToken)
      expect(message).to.contain(reason)
    }
    const older = await invite()
    const newer = await invite()
    await expectReason(older.token, 'withdrawn')
    expect((await send('DELETE', `/api/invitations/${newer.id}`, owner)).status).to.equal(204)
    await expectReason(newer.token, 'withdrawn')
    const late = await invite()
    now += 604_800_000
    await expectReason(late.token, 'expired')
    await expectReason('made-up', 'does not belong to this gateway')
  })

  it('have a bounded number of open invitations', async () => {
    const ask = (email: string) => send('POST', '/api/members', owner, { email, role: 'member' })
    const full = { status: 409, code: 'too_many_invitations' }
    await invite({ email: 'first@example.com' })
    const { token } = await invite()
    await invite({ email: 'third@example.com' })
    const { message } = await expectError(await ask('fourth@example.com'), full)
    expect(message).to.contain('3 open invitations').and.to.contain('GET /api/invitations')
    // Another invitation for the same e-mail replaces the first invitation.
    expect((await ask('first@example.com')).status).to.equal(201)
    const elsewhere = await gateway.people.signIn({ accountId: await gateway.createAccount() })
    await invite({ email: 'fourth@example.com' }, elsewhere)
    await accept({ token, ...grace })
    expect((await ask('fourth@example.com')).status).to.equal(201)
    await expectError(await ask('fifth@example.com'), full)
    now += 604_800_000
    owner = await gateway.people.signInAgain(owner)
    expect((await ask('fifth@example.com')).status).to.equal(201)
  })

  it('join with their session, if the invitation is for their e-mail', async () => {
    const other = await gateway.people.signIn({ accountId: await gateway.createAccount() })
    const { token } = await invite({ email: other.email, role: 'admin' })
    const stranger = await gateway.people.signIn()
    const { message } = await expectError(await accept({ token }, stranger), badToken)
    expect(message).to.contain('a different e-mail')
    const named = { status: 400, code: 'invalid_value', param: 'name' }
    await expectError(await accept({ token, ...grace }, other), named)
    const joined = await accept({ token }, other)
    expect(joined.status).to.equal(201)
    expect(joined.headers.get('set-cookie')).to.equal(null)
    expect(await roleOf(other)).to.equal('admin')
    const elsewhere = await send('GET', `/api/members?account_id=${accountId}`, other)
    expect(elsewhere.status).to.equal(200)
  })

  it('join with their existing password', async () => {
    const first = await invite()
    await accept({ token: first.token, ...grace })
    const id = await gateway.createAccount()
    const { token } = await gateway.people.invite(first.email, id, 'admin')
    const wrong = { token, name: 'Mallory', password: 'a wrong horse' }
    await expectError(await accept(wrong), { status: 401, code: 'invalid_credentials' })
    const missing = { status: 400, code: 'missing_required_parameter', param: 'password' }
    await expectError(await accept({ token }), missing)
    const response = await accept({ token, password: grace.password })
    const { person } = (await response.json()) as { person: { name: string; memberships: [] } }
    expect(person.name).to.equal('Grace')
    expect(person.memberships).to.have.length(2)
  })

  it('are added, changed and removed by admins, and owners only by owners', async () => {
    const path = ({ personId }: SignedInPerson) => `/api/members/${personId}`
    for (const [method, body] of [['PATCH', { role: 'member' }], ['DELETE']] as const) {
      await expectError(await send(method, path(admin), member, body), notAllowed)
      await expectError(await send(method, path(owner), admin, body), notAllowed)
    }
    await expectError(await send('PATCH', path(admin), admin, { role: 'owner' }), notAllowed)
    const wanted = { email: 'grace@example.com', role: 'owner' }
    await expectError(await send('POST', '/api/members', member, wanted), notAllowed)
    await expectError(await send('POST', '/api/members', admin, wanted), notAllowed)
    const key = await gateway.createKey('live', { accountId, scopes: ['admin'] })
    await expectError(await gateway.post('/api/members', wanted, { key }), notAllowed)
    const asAdmin = { ...wanted, role: 'admin' }
    expect((await gateway.post('/api/members', asAdmin, { key })).status).to.equal(201)
    // An admin may neither withdraw nor replace an invitation for an owner.
    const { id } = await invite(wanted)
    await expectError(await send('DELETE', `/api/invitations/${id}`, admin), notAllowed)
    await expectError(await send('POST', '/api/members', admin, asAdmin), notAllowed)
    expect((await send('PATCH', path(member), admin, { role: 'admin' })).status).to.equal(200)
    expect((await send('PATCH', path(member), owner, { role: 'owner' })).status).to.equal(200)
    expect((await send('DELETE', path(member), owner)).status).to.equal(200)
  })

  it('keep at least one owner when two owners leave at once', async () => {
    const leave = (person: SignedInPerson, by = person) =>
      send('DELETE', `/api/members/${person.personId}`, by)
    const lastOwner = { status: 409, code: 'last_owner' }
    await expectError(await leave(owner), lastOwner)
    const second = await gateway.people.signIn({ accountId })
    const demote = send('PATCH', `/api/members/${second.personId}`, owner, { role: 'member' })
    const answers = await Promise.all([leave(owner, second), demote])
    const owners = (await listed('/api/members', answers[0].ok ? second : owner)).filter(
      ({ role }) => role === 'owner',
    )
    expect(owners).to.have.length(1)
    expect(answers.filter(({ ok }) => ok)).to.have.length(1)
  })

  it('lose all access as soon as they are removed', async () => {
    const path = `/api/members/${admin.personId}`
    expect((await send('GET', '/api/members', admin)).status).to.equal(200)
    await send('PATCH', path, owner, { role: 'member' })
    await expectError(await send('GET', '/api/members', admin), notAllowed)
    expect((await send('GET', '/api/usage', admin)).status).to.equal(200)
    await send('DELETE', path, owner)
    const over = { status: 401, code: 'invalid_session' }
    await expectError(await send('GET', '/api/usage', admin), over)
    await expectError(await send('DELETE', path, owner), { status: 404, code: 'not_found' })
  })

  it('of one account cannot be reached from another', async () => {
    const elsewhere = await gateway.createAccount()
    const stranger = await gateway.people.signIn({ accountId: elsewhere })
    const { id } = await invite()
    const absent = { status: 404, code: 'not_found' }
    const path = `/api/members/${member.personId}`
    await expectError(await send('PATCH', path, stranger, { role: 'admin' }), absent)
    await expectError(await send('DELETE', path, stranger), absent)
    await expectError(await send('DELETE', `/api/invitations/${id}`, stranger), absent)
    await expectError(await send('GET', `/api/members?account_id=${accountId}`, stranger), absent)
    expect(await listed('/api/invitations', stranger)).to.deep.equal([])
    // A member of both accounts selects the account, and has the role of the selected account.
    await gateway.people.join(stranger.personId, accountId, 'member')
    await expectError(await send('DELETE', `${path}?account_id=${accountId}`, stranger), notAllowed)
    const own = await listed(`/api/members?account_id=${elsewhere}`, stranger)
    expect(own.map(({ email }) => email)).to.deep.equal([stranger.email])
  })

  it('are listed page by page', async () => {
    const seen: string[] = []
    let path = '/api/members?limit=2&order=asc'
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = (await (await send('GET', path + cursor, owner)).json()) as Listed & {
        next_cursor: string | null
      }
      seen.push(...page.data.map(({ id }) => id))
      cursor = page.next_cursor && `&cursor=${page.next_cursor}`
    }
    expect(seen).to.deep.equal([owner, admin, member].map(({ personId }) => personId))
  })

  it('need a valid e-mail and role', async () => {
    const wrong = ['x'.repeat(10_000), 'a\u0000b@example.com', '<b>@example.com', 'nobody', '']
    for (const email of wrong) {
      const error = { status: 400, code: 'invalid_value', param: 'email' }
      await expectError(await send('POST', '/api/members', owner, { email, role: 'member' }), error)
    }
    const { token } = await invite()
    for (const name of ['x'.repeat(10_000), 'a\u0000b', ' ']) {
      const error = { status: 400, code: 'invalid_value', param: 'name' }
      await expectError(await accept({ token, ...grace, name }), error)
    }
  })

  it('have each change in the audit log, without secrets', async () => {
    const { token, id } = await invite()
    await accept({ token, ...grace })
    await send('PATCH', `/api/members/${admin.personId}`, owner, { role: 'member' })
    await send('DELETE', `/api/members/${admin.personId}`, owner)
    await send('DELETE', `/api/invitations/${(await invite({ email: 'b@example.com' })).id}`, owner)
    const response = await send('GET', '/api/audit?order=asc', owner)
    const { data } = (await response.json()) as { data: { action: string; target: string }[] }
    const acts = data.map(({ action }) => action).filter((action) => action !== 'session.create')
    expect(acts).to.have.members([
      'invitation.create',
      'invitation.accept',
      'member.update',
      'member.delete',
      'invitation.create',
      'invitation.delete',
    ])
    expect(data.find(({ action }) => action === 'invitation.accept')!.target).to.equal(id)
    const rows = await gateway.db.selectFrom('invitations').selectAll().execute()
    expect(JSON.stringify([data, rows]) + gateway.logText()).to.not.contain(token)
  })
})
