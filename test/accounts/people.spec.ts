import { expect } from 'chai'
import { operations } from '../support/contract.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import type { SignedInPerson } from '../support/people.ts'
import { forEachStore } from '../support/each-store.ts'

const ada = { email: 'ada@example.com', name: 'Ada', password: 'correct horse battery' }
const credentials = { email: ada.email, password: ada.password }
const evil = { origin: 'https://evil.example' }

forEachStore('people', () => {
  let gateway: TestGateway
  let now: number
  beforeEach(async () => {
    now = Date.parse('2026-11-22T12:00:00Z')
    gateway = await startGateway({ clock: () => now })
  })
  afterEach(() => gateway.stop())

  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    gateway.post(path, body, { key: null, headers })
  const setUp = async (change: object = {}) =>
    post('/api/setup', { ...ada, token: await gateway.people.setUpLink(), ...change })
  const get = (path: string, { headers }: SignedInPerson) =>
    gateway.fetch(path, { key: null, headers })

  it('set the gateway up once by one link, even with concurrent requests', async () => {
    const token = await gateway.people.setUpLink()
    const tries = Array.from({ length: 10 }, (_, at) =>
      post('/api/setup', { ...ada, email: `ada${at}@example.com`, token }),
    )
    const statuses = (await Promise.all(tries)).map(({ status }) => status)
    expect(statuses.toSorted((a, b) => a - b)).to.deep.equal([201, ...Array(9).fill(400)])
  })

  it('learn why a link cannot be used', async () => {
    const old = await gateway.people.setUpLink()
    const expired = await gateway.people.setUpLink()
    const error = { status: 400, code: 'invalid_value', param: 'token' }
    const { message } = await expectError(await post('/api/setup', { ...ada, token: old }), error)
    expect(message).to.contain('newer one')
    now += 86_400_000
    const late = await expectError(await post('/api/setup', { ...ada, token: expired }), error)
    expect(late.message).to.contain('expired')
  })

  it('sign in with any letter case, and get a cookie that scripts cannot read', async () => {
    await setUp()
    const response = await post('/api/sessions', { ...credentials, email: 'ADA@Example.com' })
    expect(response.status).to.equal(201)
    const cookie = response.headers.get('set-cookie')!
    expect(cookie).to.match(/^gateway_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=/)
    expect(response.headers.get('cache-control')).to.equal('no-store')
    expect(response.headers.get('access-control-allow-origin')).to.equal(null)
  })

  it('are slowed down when they guess: of 1,000 wrong passwords few are checked', async () => {
    await setUp()
    const wrong = { ...credentials, password: 'a wrong horse' }
    const statuses = new Map<number, number>()
    for (let index = 0; index < 1000; index++) {
      const { status, headers } = await post('/api/sessions', wrong)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (status === 429) expect(Number(headers.get('retry-after'))).to.be.within(1, 60)
    }
    expect(Object.fromEntries(statuses)).to.deep.equal({ 401: 5, 429: 995 })
    expect((await post('/api/sessions', credentials)).status).to.equal(429)
    now += 60_000
    expect((await post('/api/sessions', credentials)).status).to.equal(201)
  })

  it('get the same answer for a wrong password as for an unregistered e-mail', async () => {
    await setUp()
    const error = { status: 401, code: 'invalid_credentials' }
    const wrong = await post('/api/sessions', { ...credentials, password: 'a wrong horse' })
    const unregistered = await post('/api/sessions', {
      ...credentials,
      email: 'nobody@example.com',
    })
    const { request_id: _, ...ofWrong } = await expectError(wrong, error)
    expect(await expectError(unregistered, error)).to.deep.include(ofWrong)
  })

  it('cannot choose a password that is short, common or their e-mail', async () => {
    for (const password of ['short', 'password123', 'aaaaaaaaaa', 'ada@example.com']) {
      await expectError(await setUp({ password }), {
        status: 400,
        code: 'invalid_value',
        param: 'password',
      })
    }
    const number = await setUp({ password: 1234567890 })
    expect(await number.text()).to.not.contain('1234567890')
  })

  it('have names on one line, which are returned unchanged', async () => {
    for (const name of ['x'.repeat(10_000), 'a\u0000b', ' ', 'a\nb']) {
      await expectError(await setUp({ name }), {
        status: 400,
        code: 'invalid_value',
        param: 'name',
      })
    }
    const name = '<script>alert(1)</script>'
    const response = await setUp({ name })
    expect(response.headers.get('content-type')).to.equal('application/json')
    expect(((await response.json()) as { person: object }).person).to.include({ name })
  })

  it('stay signed in until the session expires or is ended from another session', async () => {
    const here = await gateway.people.signIn()
    const there = await gateway.people.signInAgain(here)
    const path = `/api/sessions/${there.sessionId}`
    const { headers } = here
    expect((await get('/api/me', there)).status).to.equal(200)
    const ended = await gateway.fetch(path, { method: 'DELETE', key: null, headers })
    expect(ended.status).to.equal(204)
    await expectError(await get('/api/me', there), { status: 401, code: 'invalid_session' })
    expect((await get('/api/me', here)).status).to.equal(200)
    now += 7 * 86_400_000
    await expectError(await get('/api/me', here), { status: 401, code: 'invalid_session' })
  })

  it("end all of their other sessions at once, which only their account's audit log shows", async () => {
    const here = await gateway.people.signIn()
    const others = [await gateway.people.signInAgain(here), await gateway.people.signInAgain(here)]
    const stranger = await gateway.people.signIn()
    const end = () =>
      gateway.fetch('/api/sessions', { method: 'DELETE', key: null, headers: here.headers })
    expect((await end()).status).to.equal(204)
    for (const other of others) {
      await expectError(await get('/api/me', other), { status: 401, code: 'invalid_session' })
    }
    for (const one of [here, stranger]) expect((await get('/api/me', one)).status).to.equal(200)
    expect((await end()).status).to.equal(204)
    const by = `/api/audit?action=session.delete&by=${here.personId}`
    const { data } = (await (await get(by, stranger)).json()) as { data: Record<string, string>[] }
    const targets = others.map(({ sessionId }) => sessionId)
    expect(data.map(({ target }) => target)).to.have.members(targets)
    for (const act of data) expect(act).to.include({ by_name: 'Somebody', target_name: null })
    const nothing = await get('/api/audit?by=usr_nobody', stranger)
    expect(await nothing.json()).to.deep.include({ data: [] })
  })

  it('see before sign-in whether the gateway is set up, and whether they may sign up', async () => {
    const entrance = async () => (await gateway.fetch('/api/entrance', { key: null })).json()
    expect(await entrance()).to.deep.equal({
      object: 'entrance',
      sign_up: 'open',
      password_sign_in: 'open',
      passkeys: false,
      oidc_label: null,
      is_set_up: false,
      is_signed_in: false,
      command: 'npm run -s gateway --',
    })
    await setUp()
    expect(await entrance()).to.deep.include({ is_set_up: true })
  })

  it('may do what their role may', async () => {
    const member = await gateway.people.signIn({ role: 'member' })
    const usage = '/api/usage'
    expect((await get(usage, member)).status).to.equal(200)
    const refused = { status: 403, code: 'insufficient_scope' }
    await expectError(await get('/api/audit', member), refused)
    const admin = await gateway.people.signIn({ role: 'admin' })
    expect((await get('/api/audit', admin)).status).to.equal(200)
  })

  it('act for all of their accounts, and for no others', async () => {
    const [own, other] = [await gateway.createAccount(), await gateway.createAccount()]
    const person = await gateway.people.signIn({ accountId: own, role: 'admin' })
    const audit = (id: string) => get(`/api/audit?account_id=${id}`, person)
    expect((await audit(own)).status).to.equal(200)
    await expectError(await audit(other), { status: 404, code: 'not_found' })
    await gateway.people.join(person.personId, other, 'member')
    await expectError(await audit(other), { status: 403, code: 'insufficient_scope' })
  })

  it('see and change their other accounts like their first one', async () => {
    const [first, second] = [await gateway.createAccount(), await gateway.createAccount()]
    const person = await gateway.people.signIn({ accountId: first, role: 'member' })
    await gateway.people.join(person.personId, second, 'owner')
    const path = `/api/accounts/${second}`
    await expectError(await get(path, person), { status: 403, code: 'insufficient_scope' })
    const acting = `account_id=${second}`
    expect((await get(`${path}?${acting}`, person)).status).to.equal(200)
    expect((await get(`/api/cache?${acting}`, person)).status).to.equal(200)
    const renamed = await gateway.fetch(`${path}?${acting}`, {
      method: 'PATCH',
      key: null,
      headers: { ...person.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'The second' }),
    })
    expect(renamed.status).to.equal(200)
    const listed = await (await get(`/api/accounts?${acting}`, person)).json()
    expect(listed).to.have.nested.property('data[0].name', 'The second')
    expect(listed).to.have.property('data').of.length(1)
    const no = { status: 404, code: 'not_found' }
    await expectError(await get(`/api/accounts/${first}?${acting}`, person), no)
  })

  it('who are operators act as owners of all accounts but the first, even as members', async () => {
    const own = await gateway.createAccount()
    const person = await gateway.people.signIn({ accountId: own, role: 'member' })
    const asOperator = ['/api/providers', '/api/accounts', '/api/attempts/unknown']
    const statuses = async () => {
      const answers = await Promise.all(asOperator.map((path) => get(path, person)))
      return answers.map(({ status }) => status)
    }
    const actsAs = async () => {
      const me = (await (await get('/api/me', person)).json()) as {
        memberships: { role: string; acts_as: string }[]
      }
      return me.memberships.map(({ role, acts_as: acting }) => [role, acting])
    }
    const first = await gateway.db
      .selectFrom('accounts')
      .select('id')
      .where('is_operator', '=', 1)
      .executeTakeFirstOrThrow()
    await gateway.people.join(person.personId, first.id, 'member')
    expect(await statuses()).to.deep.equal([403, 403, 403])
    expect(await actsAs()).to.deep.equal([
      ['member', 'member'],
      ['member', 'member'],
    ])
    await gateway.db
      .updateTable('members')
      .set({ role: 'admin' })
      .where('account_id', '=', first.id)
      .where('person_id', '=', person.personId)
      .execute()
    expect(await statuses()).to.deep.equal([200, 200, 200])
    expect(await actsAs()).to.deep.equal([
      ['member', 'owner'],
      ['admin', 'admin'],
    ])
  })

  it('cannot change anything from another origin, or without their CSRF token', async () => {
    const person = await gateway.people.signIn()
    const { cookie } = person.headers
    const changing = operations.filter(
      ({ method, security = [] }) => method !== 'get' && security.some((one) => 'session' in one),
    )
    expect(changing).to.have.length.above(3)
    const site = { 'sec-fetch-site': 'cross-site' }
    const wrong: Record<string, string>[] = [
      { cookie },
      { cookie, 'x-csrf-token': 'wrong' },
      { ...person.headers, ...evil },
      { ...person.headers, ...site },
    ]
    for (const { path, method } of changing) {
      for (const headers of wrong) {
        const init = { method: method.toUpperCase(), key: null, headers }
        await expectError(await gateway.fetch(path, init), { status: 403, code: 'csrf_failed' })
      }
    }
  })

  it('can use their session only on /api', async () => {
    const person = await gateway.people.signIn()
    await expectError(await get('/v1/models', person), { status: 401, code: 'missing_api_key' })
  })

  it('end their other sessions with a new password, and no secret is stored', async () => {
    const response = await setUp()
    const { csrf_token: csrf } = (await response.json()) as { csrf_token: string }
    const cookie = response.headers.get('set-cookie')!.split(';')[0]!
    const other = await post('/api/sessions', credentials)
    const otherCookie = other.headers.get('set-cookie')!.split(';')[0]!
    const next = 'staples of the battery'
    const change = { current_password: ada.password, new_password: next }
    const headers = { cookie, 'x-csrf-token': csrf }
    const changed = await gateway.post('/api/me/password', change, {
      method: 'PUT',
      key: null,
      headers,
    })
    expect(changed.status).to.equal(204)
    const me = (held: string) => gateway.fetch('/api/me', { key: null, headers: { cookie: held } })
    expect((await me(cookie)).status).to.equal(200)
    expect((await me(otherCookie)).status).to.equal(401)
    expect((await post('/api/sessions', { ...credentials, password: next })).status).to.equal(201)
    const tables = ['people', 'sessions', 'audit_events', 'setup_links'] as const
    const rows = await Promise.all(
      tables.map((t) => gateway.db.selectFrom(t).selectAll().execute()),
    )
    const stored = JSON.stringify(rows) + gateway.logText()
    for (const secret of [ada.password, next, cookie.split('=')[1]!, csrf]) {
      expect(stored).to.not.contain(secret)
    }
  })
})
