import { expect } from 'chai'
import { startGateway, type TestGateway } from '../../support/gateway.ts'
import { ada, peopleAt, startWithAda, type People } from './people-at.ts'
import { createVisitor, fieldIn, register } from './visitor.ts'

const callback = 'http://127.0.0.1:33418/'

describe('the sign-in pages', () => {
  let gateway: TestGateway
  let people: People
  before(async () => {
    ;({ gateway, people } = await startWithAda())
  })
  after(() => gateway.stop())

  it('ask to sign in, then for consent, and return to the client with a code', async () => {
    const { visitor, asking } = await people.arrive({ name: 'Editor' })
    expect(visitor.shown().html).to.contain('<h1>Sign in</h1>').and.to.contain('Editor')
    const consent = await people.signIn(visitor)
    expect(consent.html).to.contain('Connect this application?').and.to.contain(ada.email)
    expect(consent.html).to.contain('an application on this computer')
    const done = await visitor.press('allow', { budget_usd: '2.50' })
    expect(done.html).to.contain('<h1>Connected</h1>')
    const back = await people.goOn(visitor)
    expect(back.origin + back.pathname).to.equal(callback)
    expect(back.searchParams.get('state')).to.equal('the state')
    const { access_token: token } = await asking.exchange(back.searchParams.get('code')!)
    const models = await gateway.fetch('/v1/models', { key: token })
    expect(models.status).to.equal(200)
    const [made] = await people.connectionsOf(asking.clientId)
    expect(made).to.include({ client_name: 'Editor', budget_nano_usd: 2_500_000_000 })
    expect(made).to.include({ budget_period: 'month' })
    expect(made).to.include({ client_redirect_host: new URL(callback).hostname })
  })

  it('change the budget of an existing connection, and keep it when the field is empty', async () => {
    const { visitor, asking } = await people.arrive()
    await people.signIn(visitor)
    for (const [budget, nano] of [
      ['10', 10_000_000_000],
      ['', 10_000_000_000],
      ['0,50', 500_000_000],
    ] as const) {
      await visitor.open(asking.path)
      await visitor.press('allow', { budget_usd: budget })
      const made = await people.connectionsOf(asking.clientId)
      expect(made.map((row) => row.budget_nano_usd)).to.deep.equal([nano])
    }
    const [made] = await people.connectionsOf(asking.clientId)
    const events = gateway.db.selectFrom('audit_events').select('action')
    const recorded = await events.where('target', '=', made!.id).orderBy('id').execute()
    expect(recorded.map(({ action }) => action)).to.deep.equal(['key.create', 'key.update'])
  })

  it('set a budget that applies at once to a cached connection', async () => {
    await using caching = await startGateway({ bounds: { keyCacheMs: 60_000 } })
    const own = peopleAt(caching)
    await own.post('/api/people', ada)
    const { visitor, asking } = await own.arrive()
    await own.signIn(visitor)
    await visitor.press('allow')
    const back = await own.goOn(visitor)
    const { access_token: key } = await asking.exchange(back.searchParams.get('code')!)
    const budget = async () => {
      const body = await (await caching.fetch('/api/key', { key })).json()
      return (body as { budget: { amount: object } | null }).budget?.amount
    }
    expect(await budget()).to.equal(undefined)
    await visitor.open(asking.path)
    await visitor.press('allow', { budget_usd: '3' })
    expect(await budget()).to.deep.equal({ usd: '3', nano_usd: 3_000_000_000 })
  })

  it('are not cached, cannot be framed and run no scripts', async () => {
    const { visitor } = await people.arrive()
    for (const { headers } of [
      visitor.shown(),
      await people.signIn(visitor),
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

  it('report a denial to the client, before or after the sign-in', async () => {
    for (const before of [true, false]) {
      const { visitor, asking } = await people.arrive()
      if (!before) await people.signIn(visitor)
      expect((await visitor.press('deny')).html).to.contain('<h1>Not connected</h1>')
      const back = await people.goOn(visitor)
      expect(back.searchParams.get('error')).to.equal('access_denied')
      expect(back.searchParams.get('code')).to.equal(null)
      const made = await people.connectionsOf(asking.clientId)
      expect(made).to.deep.equal([])
    }
  })

  it('recognize a signed-in person, and let them switch to another account', async () => {
    const { visitor } = await people.arrive()
    await people.signIn(visitor)
    const next = await visitor.open((await register(gateway)).path)
    expect(next.html).to.contain('Connect this application?')
    const session = visitor.cookies.get('gateway_session /')!
    const switched = await visitor.press('switch')
    expect(switched.html).to.contain('<h1>Sign in</h1>')
    const cookie = `gateway_session=${session.value}`
    const over = await gateway.fetch('/api/sessions/current', { key: null, headers: { cookie } })
    expect(over.status).to.equal(401)
  })

  it('create an account if the operator allows it', async () => {
    const { visitor } = await people.arrive()
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

  it('create no account if the operator forbids it', async () => {
    await using closed = await startGateway({ variables: { SIGN_UP: 'closed' } })
    const visitor = createVisitor(closed)
    const { path } = await register(closed)
    expect((await visitor.open(path)).html).not.to.contain('sign-up')
    const fields = { email: 'eve@example.com', name: 'Eve', password: 'a long sentence' }
    const refused = await visitor.press('sign_up', fields)
    expect(refused.status).to.equal(403)
    expect(refused.html).to.contain('Sign-up is closed').and.to.contain('<h1>Sign in</h1>')
  })

  it('let a person with several accounts choose the account that pays', async () => {
    const other = await gateway.createAccount()
    const { id } = await gateway.db
      .selectFrom('people')
      .select('id')
      .where('email', '=', ada.email)
      .executeTakeFirstOrThrow()
    await gateway.people.join(id, other, 'member')
    const { visitor, asking } = await people.arrive()
    const { html } = await people.signIn(visitor)
    expect(html).to.contain('<select id="account_id"').and.to.contain(`value="${other}"`)
    const foreign = await gateway.createAccount()
    const refused = await visitor.press('allow', { account_id: foreign })
    expect(refused.status).to.equal(400)
    expect(refused.html).to.contain('Choose one of your accounts.')
    await visitor.press('allow', { account_id: other })
    const made = await people.connectionsOf(asking.clientId)
    expect(made.map((row) => row.account_id)).to.deep.equal([other])
  })

  it('refuse a wrong password with the message of /api/sessions, and slow down repeated attempts', async () => {
    const { visitor } = await people.arrive()
    const words: string[] = []
    for (let count = 0; count < 10; count++) {
      const { status, html } = await people.signIn(visitor, { ...ada, email: 'who@example.com' })
      words.push(`${status} ${/role="alert"[^>]*>([^<]*)/.exec(html)?.[1]}`)
    }
    expect(words[0]).to.equal('403 The e-mail or the password is wrong.')
    expect(words.at(-1)).to.match(/^429 /)
    expect(visitor.shown().headers.get('retry-after')).to.match(/^\d+$/)
    expect(fieldIn(visitor.shown().html, 'email')).to.equal('who@example.com')
  })

  it('show a hostile name as text', async () => {
    const name = `"><script>alert(1)</script>\u202E${'x'.repeat(10_000)}`
    const { visitor } = await people.arrive({ name: name.slice(0, 1000) })
    expect(visitor.shown().html).to.contain('&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(visitor.shown().html).not.to.match(/<script|\u202E|x{60}/)
  })
})
