import { expect } from 'chai'
import type { Role } from '../../src/core/caller.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import type { SignedInPerson } from '../support/people.ts'

const nextPassword = 'staples of the battery'
type Link = { token: string; link: string; email: string; expires_at: string }

forEachStore('links for a new password', () => {
  let gateway: TestGateway
  let accountId: string
  let now: number
  beforeEach(async () => {
    now = Date.parse('2026-11-22T12:00:00Z')
    gateway = await startGateway({ clock: () => now })
    accountId = await gateway.createAccount()
  })
  afterEach(() => gateway.stop())

  const ask = (by: SignedInPerson, { personId }: SignedInPerson, account = accountId) =>
    gateway.post(`/api/members/${personId}/password-link?account_id=${account}`, undefined, {
      key: null,
      headers: by.headers,
    })
  const member = (role: Role = 'member') => gateway.people.signIn({ accountId, role })
  const reset = (token: string, password = nextPassword) =>
    gateway.post('/api/password-links/use', { token, new_password: password }, { key: null })
  const signIn = (email: string, password: string) =>
    gateway.post('/api/sessions', { email, password }, { key: null })
  const statusOfSession = async ({ headers }: SignedInPerson) =>
    (await gateway.fetch('/api/sessions/current', { key: null, headers })).status
  /** The members for whom the caller may create a password link, as the list of members says. */
  const offered = async (by: SignedInPerson, account = accountId) => {
    const path = `/api/members?account_id=${account}`
    const response = await gateway.fetch(path, { key: null, headers: by.headers })
    const { data } = (await response.json()) as {
      data: { id: string; may_get_password_link: boolean }[]
    }
    return data.flatMap(({ id, may_get_password_link: may }) => (may ? id : []))
  }
  const linkFor = async (by: SignedInPerson, whom: SignedInPerson): Promise<Link> => {
    const response = await ask(by, whom)
    expect(response.status).to.equal(201)
    expect(response.headers.get('cache-control')).to.equal('no-store')
    return (await response.json()) as Link
  }
  const unusable = { status: 400, code: 'invalid_value', param: 'token' }

  it('set a new password, sign the member in and end other sessions', async () => {
    const owner = await member('owner')
    const grace = await member()
    const made = await linkFor(owner, grace)
    expect(made.email).to.equal(grace.email)
    expect(made.link).to.contain(`/dashboard/password#token=${made.token}`)
    expect(Date.parse(made.expires_at) - now).to.equal(86_400_000)
    expect(await statusOfSession(grace)).to.equal(200)
    const response = await reset(made.token)
    expect(response.status).to.equal(201)
    expect(response.headers.get('set-cookie')).to.match(/^gateway_session=/)
    expect(await response.json()).to.have.nested.property('person.id', grace.personId)
    expect(await statusOfSession(grace)).to.equal(401)
    expect(await statusOfSession(owner)).to.equal(200)
    expect((await signIn(grace.email, nextPassword)).status).to.equal(201)
    const events = await gateway.db.selectFrom('audit_events').selectAll().execute()
    const acts = events.filter(({ target }) => target === grace.personId)
    expect(acts.map(({ action, by }) => [action, by])).to.deep.equal([
      ['password_link.create', owner.personId],
      ['person.reset_password', grace.personId],
    ])
    const stored = await gateway.db.selectFrom('password_links').selectAll().execute()
    expect(JSON.stringify([stored, events])).not.to.contain(made.token)
  })

  it('work once, even with concurrent requests, and not with a weak password', async () => {
    const { token } = await linkFor(await member('owner'), await member())
    const weak = { status: 400, code: 'invalid_value', param: 'new_password' }
    await expectError(await reset(token, '12345678'), weak)
    const answers = await Promise.all(Array.from({ length: 8 }, () => reset(token)))
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
    expect(statuses).to.deep.equal([201, ...Array(7).fill(400)])
  })

  it('end by expiry, by a newer link, or by a change of the password, the role or the accounts', async () => {
    const owner = await member('owner')
    const refused = async (words: string, end: (grace: SignedInPerson) => Promise<unknown>) => {
      const grace = await member()
      const { token } = await linkFor(owner, grace)
      await end(grace)
      const { message } = await expectError(await reset(token), unusable)
      expect(message).to.contain(words)
    }
    await refused('ended by a newer link', (grace) => linkFor(owner, grace))
    await refused('change of the password', async ({ email }) => {
      const body = { email, name: 'Grace', password: nextPassword }
      await gateway.setUp({ ...body, token: await gateway.people.setUpLink() })
    })
    await refused('the role', ({ personId }) =>
      gateway.fetch(`/api/members/${personId}?account_id=${accountId}`, {
        method: 'PATCH',
        key: null,
        headers: { ...owner.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ role: 'admin' }),
      }),
    )
    await refused('has been used', async ({ email, headers }) => {
      const { token } = await gateway.people.invite(email)
      await gateway.post('/api/invitations/accept', { token }, { key: null, headers })
    })
    await refused('has expired', () => Promise.resolve((now += 86_400_000)))
    await expectError(await reset('of no gateway'), unusable)
  })

  it('give access to no more than their creator may change', async () => {
    const { people } = gateway
    const first = await gateway.db
      .selectFrom('accounts')
      .select('id')
      .where('is_operator', '=', 1)
      .executeTakeFirstOrThrow()
    const [owner, admin, grace] = [await member('owner'), await member('admin'), await member()]
    const [operator, root] = [await people.signIn({ role: 'admin' }), await people.signIn()]
    const refusal = { status: 403, code: 'insufficient_scope' }
    const refused = async (answer: Promise<Response>, words: string) => {
      const { message } = await expectError(await answer, refusal)
      expect(message).to.contain(words)
    }
    await refused(ask(grace, admin), 'admin')
    await refused(ask(admin, owner), 'owner of the account')
    await refused(ask(owner, owner), 'your own password')
    await linkFor(admin, grace)
    expect(await offered(admin)).to.have.members([grace.personId])
    expect(await offered(owner)).to.have.members([grace.personId, admin.personId])
    // The admin of one account must not get into another account by a password link for a member of both.
    await people.join(grace.personId, await gateway.createAccount(), 'member')
    await refused(ask(owner, grace), 'other accounts')
    expect(await offered(owner)).to.have.members([admin.personId])
    await linkFor(operator, grace)
    await linkFor(operator, owner)
    await people.join(root.personId, accountId, 'member')
    await refused(ask(owner, root), 'other accounts')
    await refused(ask(operator, root), 'owns the gateway')
    await refused(ask(operator, root, first.id), 'owner of the account')
    const all = [owner, admin, grace].map(({ personId }) => personId)
    expect(await offered(operator)).to.have.members(all)
    expect(await offered(operator, first.id)).to.deep.equal([])
    expect(await offered(root, first.id)).to.deep.equal([operator.personId])
    expect(await offered(root)).to.have.members(all)
    await linkFor(await people.signIn(), root)
    const elsewhere = await people.signIn({ accountId: await gateway.createAccount() })
    await expectError(await ask(owner, elsewhere), { status: 404, code: 'not_found' })
  })

  it('are protected against guesses like passwords', async () => {
    const answers = []
    for (let tries = 0; tries < 60; tries++) answers.push((await reset(`guess ${tries}`)).status)
    expect(answers.slice(0, 50)).to.deep.equal(Array(50).fill(400))
    expect(answers.at(-1)).to.equal(429)
  })
})
