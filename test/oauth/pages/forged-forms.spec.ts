import { expect } from 'chai'
import type { TestGateway } from '../../support/gateway.ts'
import { ada, startWithAda, type People } from './people-at.ts'
import { createVisitor, fieldIn } from './visitor.ts'

describe('the forms of the sign-in pages have no effect', () => {
  let gateway: TestGateway
  let people: People
  before(async () => {
    ;({ gateway, people } = await startWithAda())
  })
  after(() => gateway.stop())

  const expectNothing = async (clientId: string) => {
    const made = await people.connectionsOf(clientId)
    expect(made).to.deep.equal([])
  }
  const forged: Record<string, (token: string) => string> = {
    'without their token': () => '',
    'with another token': (token) => token.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
    'with a token that is too long': (token) => token.repeat(20),
  }
  for (const [what, forge] of Object.entries(forged)) {
    it(what, async () => {
      const { visitor, asking } = await people.arrive()
      const { html } = await people.signIn(visitor)
      const refused = await visitor.press('allow', {
        csrf_token: forge(fieldIn(html, 'csrf_token')!),
      })
      expect(refused.status).to.equal(403)
      expect(refused.html).to.contain('nothing was changed')
      await expectNothing(asking.clientId)
    })
  }

  const foreign: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
  ]
  for (const headers of foreign) {
    it(`from a page of another origin: ${JSON.stringify(headers)}`, async () => {
      const { visitor, asking } = await people.arrive()
      const { html, path } = await people.signIn(visitor)
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

  it('after another person signed in in another tab', async () => {
    const { visitor, asking } = await people.arrive()
    const consent = await people.signIn(visitor)
    const session = await people.post('/api/people', { ...ada, email: 'other@example.com' })
    const cookie = session.headers.getSetCookie()[0]!.split(';')[0]!.split('=')[1]!
    visitor.cookies.set('gateway_session /', { value: cookie, path: '/' })
    const refused = await visitor.press('allow', {}, consent)
    expect(refused.status).to.equal(403)
    expect(refused.html).to.contain('other@example.com').and.not.to.contain(ada.email)
    await expectNothing(asking.clientId)
  })

  it('once the sign-in has expired', async () => {
    const { visitor, asking } = await people.arrive()
    const consent = await people.signIn(visitor)
    const expired = gateway.db.updateTable('oauth_artifacts').set({ expires_at: 1 })
    await expired.where('kind', '=', 'Interaction').execute()
    for (const shown of [
      await visitor.press('allow', {}, consent),
      await visitor.open(consent.path),
    ]) {
      expect(shown.status).to.equal(404)
      expect(shown.html)
        .to.contain('This sign-in has expired')
        .and.not.to.contain('http-equiv="refresh"')
    }
    await expectNothing(asking.clientId)
  })

  it('in another browser, with or without a session', async () => {
    const { visitor } = await people.arrive()
    const { path } = await people.signIn(visitor)
    const thief = createVisitor(gateway)
    const stopped = await thief.open(path)
    expect(stopped.status).to.equal(404)
    expect(stopped.html).to.contain('This sign-in has expired').and.not.to.contain('href="http')
    const session = visitor.cookies.get('gateway_session /')!
    thief.cookies.set('gateway_session /', session)
    expect((await thief.open(path)).status).to.equal(404)
  })

  it('for a key id in a forged cookie', async () => {
    const { visitor } = await people.arrive()
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

  it('when a form is sent again', async () => {
    const { visitor, asking } = await people.arrive()
    const consent = await people.signIn(visitor)
    await visitor.press('allow', {}, consent)
    await visitor.press('allow', {}, consent)
    await people.goOn(visitor)
    const again = await visitor.press('allow', {}, consent)
    expect(again.status).to.equal(404)
    expect(again.html).to.contain('Nothing was connected')
    const made = await people.connectionsOf(asking.clientId)
    expect(made).to.have.length(1)
  })

  it('with an unknown action, a duplicate field or a field that is too long', async () => {
    const { visitor, asking } = await people.arrive()
    const { html, path } = await people.signIn(visitor)
    const token = fieldIn(html, 'csrf_token')!
    for (const [body, status] of [
      [`csrf_token=${token}&action=constructor`, 400],
      [`csrf_token=${token}&action=allow&action=allow`, 400],
      [`csrf_token=${token}&action=allow&account_id=${'x'.repeat(70_000)}`, 413],
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
