import { expect } from 'chai'
import { startGateway, type TestGateway } from '../../support/gateway.ts'
import { createVisitor, fieldIn, onwardOf, register, type Visitor } from './visitor.ts'

const ada = { email: 'ada@example.com', name: 'Ada Lovelace', password: 'a sentence of hers' }
const callback = 'http://127.0.0.1:33418/'

describe('the pages on which a client is let in', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway({ file: { limits: { oauth_registrations_per_hour_max: 1000 } } })
    await post('/api/people', ada)
  })
  after(() => gateway.stop())

  const post = (path: string, body: object) =>
    gateway.post(path, body, { key: null, headers: { 'sec-fetch-site': 'same-origin' } })

  /** A visitor before the first page for a client. */
  const arrive = async (client = {}) => {
    const asking = await register(gateway, client)
    const visitor = createVisitor(gateway)
    const shown = await visitor.open(asking.path)
    expect(shown.status, shown.html).to.equal(200)
    return { visitor, asking }
  }
  const signIn = (visitor: Visitor, { email, password } = ada) =>
    visitor.press('sign_in', { email, password })
  /** Where the browser ends behind the last page. */
  const goOn = async (visitor: Visitor) => {
    const response = await visitor.ask(onwardOf(visitor.shown()))
    expect(response.status).to.equal(303)
    return new URL(response.headers.get('location')!)
  }
  const connections = async () =>
    gateway.db.selectFrom('api_keys').selectAll().where('kind', '=', 'connection').execute()

  it('ask to sign in, then for consent, and lead back with a code', async () => {
    const { visitor, asking } = await arrive({ name: 'Editor' })
    expect(visitor.shown().html).to.contain('<h1>Sign in</h1>').and.to.contain('Editor')
    const consent = await signIn(visitor)
    expect(consent.html).to.contain('Connect this application?').and.to.contain(ada.email)
    expect(consent.html).to.contain('an application on this computer')
    const done = await visitor.press('allow', { budget_usd: '2.50' })
    expect(done.html).to.contain('<h1>Connected</h1>')
    const back = await goOn(visitor)
    expect(back.origin + back.pathname).to.equal(callback)
    expect(back.searchParams.get('state')).to.equal('the state')
    const { access_token: token } = await asking.exchange(back.searchParams.get('code')!)
    const models = await gateway.fetch('/v1/models', { key: token })
    expect(models.status).to.equal(200)
    const [made] = (await connections()).filter((row) => row.client_id === asking.clientId)
    expect(made).to.include({ client_name: 'Editor', budget_nano_usd: 2_500_000_000 })
    expect(made).to.include({ budget_period: 'month' })
  })

  it('are kept by nothing, framed by nothing and run nothing', async () => {
    const { visitor } = await arrive()
    for (const { headers } of [
      visitor.shown(),
      await signIn(visitor),
      await visitor.press('deny'),
    ]) {
      const policy = headers.get('content-security-policy')!.split('; ')
      expect(policy).to.include.members([
        "default-src 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
      ])
      expect(headers.get('x-frame-options')).to.equal('DENY')
      expect(headers.get('cache-control')).to.equal('no-store')
      expect(headers.get('referrer-policy')).to.equal('same-origin')
      expect(headers.get('content-type')).to.equal('text/html; charset=utf-8')
    }
  })

  it('tell the client when the person says no, before or after signing in', async () => {
    for (const before of [true, false]) {
      const { visitor, asking } = await arrive()
      if (!before) await signIn(visitor)
      expect((await visitor.press('deny')).html).to.contain('<h1>Not connected</h1>')
      const back = await goOn(visitor)
      expect(back.searchParams.get('error')).to.equal('access_denied')
      expect(back.searchParams.get('code')).to.equal(null)
      const made = (await connections()).filter((row) => row.client_id === asking.clientId)
      expect(made).to.deep.equal([])
    }
  })

  it('know who is signed in already, and let them be another one', async () => {
    const { visitor } = await arrive()
    await signIn(visitor)
    const next = await visitor.open((await register(gateway)).path)
    expect(next.html).to.contain('Connect this application?')
    const [session] = [...visitor.cookies].filter(([name]) => name.startsWith('gateway_session'))
    const switched = await visitor.press('switch')
    expect(switched.html).to.contain('<h1>Sign in</h1>')
    const cookie = `gateway_session=${session![1].value}`
    const over = await gateway.fetch('/api/sessions/current', { key: null, headers: { cookie } })
    expect(over.status).to.equal(401)
  })

  it('make an account where the operator allows it', async () => {
    const { visitor } = await arrive()
    const link = /href="([^"]*view=sign-up)"/.exec(visitor.shown().html)![1]!
    await visitor.open(link)
    const grace = { email: 'grace@example.com', name: 'Grace', password: 'short' }
    const refused = await visitor.press('sign_up', grace)
    expect(refused.status).to.equal(400)
    expect(refused.html).to.contain('id="password-wrong"').and.to.contain('value="Grace"')
    expect(refused.html).not.to.contain('short"')
    const consent = await visitor.press('sign_up', { ...grace, password: 'a long sentence' })
    expect(consent.html).to.contain('Connect this application?').and.to.contain('Grace')
  })

  it('make no account where the operator does not', async () => {
    await using closed = await startGateway({ variables: { SIGN_UP: 'closed' } })
    const visitor = createVisitor(closed)
    const { path } = await register(closed)
    expect((await visitor.open(path)).html).not.to.contain('sign-up')
    const fields = { email: 'eve@example.com', name: 'Eve', password: 'a long sentence' }
    const refused = await visitor.press('sign_up', fields)
    expect(refused.status).to.equal(403)
    expect(refused.html).to.contain('Nobody signs up here').and.to.contain('<h1>Sign in</h1>')
  })

  it('let a person of several accounts choose who pays', async () => {
    const other = await gateway.createAccount()
    const { id } = await gateway.db
      .selectFrom('people')
      .select('id')
      .where('email', '=', ada.email)
      .executeTakeFirstOrThrow()
    await gateway.people.join(id, other, 'member')
    const { visitor, asking } = await arrive()
    const { html } = await signIn(visitor)
    expect(html).to.contain('<select id="account_id"').and.to.contain(`value="${other}"`)
    const foreign = await gateway.createAccount()
    const refused = await visitor.press('allow', { account_id: foreign })
    expect(refused.status).to.equal(400)
    expect(refused.html).to.contain('Choose one of your accounts.')
    await visitor.press('allow', { account_id: other })
    const made = (await connections()).filter((row) => row.client_id === asking.clientId)
    expect(made.map((row) => row.account_id)).to.deep.equal([other])
  })

  it('take an API key in the place of a person', async () => {
    const { visitor, asking } = await arrive()
    const consent = await visitor.press('use_key', { api_key: gateway.liveKey })
    expect(consent.html).to.contain('With the API key').and.not.to.contain('budget_usd')
    expect(consent.html).not.to.contain(gateway.liveKey)
    const cookies = [...visitor.cookies].map(([, { value }]) => value).join()
    expect(cookies).not.to.contain(gateway.liveKey)
    await visitor.press('allow')
    const back = await goOn(visitor)
    const { access_token: token } = await asking.exchange(back.searchParams.get('code')!)
    expect((await gateway.fetch('/v1/models', { key: token })).status).to.equal(200)
    const [made] = (await connections()).filter((row) => row.client_id === asking.clientId)
    expect(made?.bound_to).to.be.a('string')
  })

  it('say of a test key that its answers cost nothing', async () => {
    const { visitor } = await arrive()
    const consent = await visitor.press('use_key', { api_key: gateway.testKey })
    expect(consent.html).to.contain('<strong>test key</strong>')
  })

  describe('refuse an API key', () => {
    const cases: Record<string, { key: () => Promise<string> | string; text: string }> = {
      'that is missing': { key: () => '  ', text: 'Fill in an API key.' },
      'that is none': { key: () => 'sk-something', text: 'This is no API key of this gateway' },
      'that is shortened': { key: () => 'mag_live_...', text: 'The key is shortened' },
      'that may not infer': {
        key: () => gateway.createKey('live', { scopes: ['usage:read'] }),
        text: 'may not call models',
      },
      'that was revoked': {
        key: async () => {
          const key = await gateway.createKey('live', { row: { name: 'revoked' } })
          await gateway.db
            .updateTable('api_keys')
            .set({ revoked_at: 1 })
            .where('name', '=', 'revoked')
            .execute()
          return key
        },
        text: 'This API key was revoked.',
      },
    }
    for (const [what, { key, text }] of Object.entries(cases)) {
      it(what, async () => {
        const { visitor } = await arrive()
        const given = await key()
        const refused = await visitor.press('use_key', { api_key: given })
        expect(refused.status).to.be.oneOf([400, 403])
        expect(refused.html).to.contain(text).and.to.contain('<details open>')
        expect(refused.html).to.contain('aria-describedby="api_key-hint api_key-wrong"')
        if (given.startsWith('mag_live_')) expect(refused.html).not.to.contain(given)
      })
    }

    it('that ends between the pages', async () => {
      const { visitor } = await arrive()
      const key = await gateway.createKey('live', { row: { name: 'ending' } })
      await visitor.press('use_key', { api_key: key })
      const ending = gateway.db.updateTable('api_keys').set({ revoked_at: 1 })
      await ending.where('name', '=', 'ending').execute()
      const refused = await visitor.press('allow')
      expect(refused.html).to.contain('<h1>Sign in</h1>').and.to.contain('has ended')
    })
  })

  it('refuse a wrong password with the words of /api/sessions, and slow down who tries many', async () => {
    const { visitor } = await arrive()
    const words: string[] = []
    for (let count = 0; count < 10; count++) {
      const { status, html } = await signIn(visitor, { ...ada, email: 'who@example.com' })
      words.push(`${status} ${/role="alert"[^>]*>([^<]*)/.exec(html)?.[1]}`)
    }
    expect(words[0]).to.equal('403 The e-mail or the password is wrong.')
    expect(words.at(-1)).to.match(/^429 /)
    expect(visitor.shown().headers.get('retry-after')).to.match(/^\d+$/)
    expect(fieldIn(visitor.shown().html, 'email')).to.equal('who@example.com')
  })

  describe('do nothing', () => {
    const expectNothing = async (clientId: string) => {
      const made = (await connections()).filter((row) => row.client_id === clientId)
      expect(made).to.deep.equal([])
    }
    const forged: Record<string, (token: string) => string> = {
      'without their token': () => '',
      'with another token': (token) => token.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
      'with a token of any length': (token) => token.repeat(20),
    }
    for (const [what, forge] of Object.entries(forged)) {
      it(what, async () => {
        const { visitor, asking } = await arrive()
        const { html } = await signIn(visitor)
        const refused = await visitor.press('allow', {
          csrf_token: forge(fieldIn(html, 'csrf_token')!),
        })
        expect(refused.status).to.equal(403)
        expect(refused.html).to.contain('nothing has been done')
        await expectNothing(asking.clientId)
      })
    }

    const foreign: Record<string, string>[] = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    ]
    for (const headers of foreign) {
      it(`for a page of another origin: ${JSON.stringify(headers)}`, async () => {
        const { visitor, asking } = await arrive()
        const { html, path } = await signIn(visitor)
        const body = new URLSearchParams({
          csrf_token: fieldIn(html, 'csrf_token')!,
          account_id: fieldIn(html, 'account_id') ?? '',
          action: 'allow',
        })
        const refused = await visitor.open(path, { method: 'POST', body, headers })
        expect(refused.status).to.equal(403)
        expect(refused.headers.get('content-type')).to.contain('text/html')
        await expectNothing(asking.clientId)
      })
    }

    it('for somebody else who signed in in another tab', async () => {
      const { visitor, asking } = await arrive()
      const consent = await signIn(visitor)
      const session = await post('/api/people', { ...ada, email: 'other@example.com' })
      const cookie = session.headers.getSetCookie()[0]!.split(';')[0]!.split('=')[1]!
      visitor.cookies.set('gateway_session /', { value: cookie, path: '/' })
      const refused = await visitor.press('allow', {}, consent)
      expect(refused.status).to.equal(403)
      expect(refused.html).to.contain('other@example.com').and.not.to.contain(ada.email)
      await expectNothing(asking.clientId)
    })

    it('for another browser, with the address alone or with a session', async () => {
      const { visitor } = await arrive()
      const { path } = await signIn(visitor)
      const thief = createVisitor(gateway)
      const stopped = await thief.open(path)
      expect(stopped.status).to.equal(404)
      expect(stopped.html).to.contain('This sign-in is over').and.not.to.contain('href="http')
      const session = visitor.cookies.get('gateway_session /')!
      thief.cookies.set('gateway_session /', session)
      expect((await thief.open(path)).status).to.equal(404)
    })

    it('for a key that somebody writes into a cookie of their own', async () => {
      const { visitor } = await arrive()
      const { id } = await gateway.db
        .selectFrom('api_keys')
        .select('id')
        .where('mode', '=', 'live')
        .where('kind', '=', 'key')
        .limit(1)
        .executeTakeFirstOrThrow()
      const { path } = visitor.shown()
      visitor.cookies.set(`gateway_given_key ${path}`, { value: `${id}.${'A'.repeat(43)}`, path })
      expect((await visitor.open(path)).html).to.contain('<h1>Sign in</h1>')
    })

    it('when what was done is sent again', async () => {
      const { visitor, asking } = await arrive()
      const consent = await signIn(visitor)
      await visitor.press('allow', {}, consent)
      await visitor.press('allow', {}, consent)
      await goOn(visitor)
      const again = await visitor.press('allow', {}, consent)
      expect(again.status).to.equal(404)
      expect(again.html).to.contain('Nothing has been connected')
      const made = (await connections()).filter((row) => row.client_id === asking.clientId)
      expect(made).to.have.length(1)
    })

    it('with an unknown button, a field twice or too much of it', async () => {
      const { visitor, asking } = await arrive()
      const { html, path } = await signIn(visitor)
      const token = fieldIn(html, 'csrf_token')!
      for (const [body, status] of [
        [`csrf_token=${token}&action=constructor`, 400],
        [`csrf_token=${token}&action=allow&action=allow`, 400],
        [`csrf_token=${token}&action=allow&account_id=${'x'.repeat(20_000)}`, 413],
        [`csrf_token=${token}&action=allow&budget_usd=-1`, 400],
      ] as const) {
        const headers = { 'content-type': 'application/x-www-form-urlencoded' }
        const refused = await visitor.open(path, { method: 'POST', body, headers })
        expect(refused.status, body.slice(0, 80)).to.equal(status)
        expect(refused.headers.get('content-type')).to.contain('text/html')
      }
      await expectNothing(asking.clientId)
    })
  })

  it('show a hostile name as text', async () => {
    const name = `"><script>alert(1)</script>\u202E${'x'.repeat(10_000)}`
    const { visitor } = await arrive({ name: name.slice(0, 1000) })
    expect(visitor.shown().html).to.contain('&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(visitor.shown().html).not.to.match(/<script|\u202E|x{60}/)
  })
})
