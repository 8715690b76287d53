import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { authorize, getAs, registered, type Registered } from '../support/oauth-client.ts'
import { approveClient } from '../support/oauth-person.ts'
import { createVisitor } from './pages/visitor.ts'

describe('an error for a client that registered itself with an address on another host', () => {
  const elsewhere = 'https://app.example/cb'
  const editor = 'com.example.app:/cb'
  const wrong: [name: string, changes: Record<string, string | undefined>, error: string][] = [
    ['with prompt=none', { prompt: 'none' }, 'login_required'],
    ['without PKCE', { code_challenge: undefined }, 'invalid_request'],
    ['for the response type token', { response_type: 'token' }, 'unsupported_response_type'],
    ['for a foreign scope', { scope: 'admin' }, 'invalid_scope'],
    ['for a foreign resource', { resource: 'https://evil.example/mcp' }, 'invalid_target'],
    [
      'with the response mode form_post',
      { prompt: 'none', response_mode: 'form_post' },
      'login_required',
    ],
    [
      'with the response mode fragment',
      { prompt: 'none', response_mode: 'fragment' },
      'login_required',
    ],
    ['with a request object', { request: 'eyJhbGciOiJub25lIn0.e30.' }, 'request_not_supported'],
  ]
  let gateway: TestGateway
  let stranger: Registered
  before(async () => {
    gateway = await startGateway()
    const redirect_uris = [elsewhere, 'https://other.example/cb', editor]
    stranger = await registered(gateway, { redirect_uris })
  })
  after(() => gateway.stop())
  const askFrom = (redirect_uri: string, changes: Record<string, string | undefined>) =>
    authorize(gateway, stranger.client_id, { redirect_uri, ...changes })
  const expectShown = async (answer: Response, error: string) => {
    expect(answer.headers.get('location')).to.equal(null)
    expect(answer.status).to.equal(400)
    expect(await answer.json()).to.include({ error })
  }
  const consent = async (redirect_uri: string) => {
    const answer = await askFrom(redirect_uri, {})
    return approveClient(gateway, answer.url)
  }

  for (const [name, changes, error] of wrong) {
    it(`is shown on a page: ${name}`, async () => {
      for (const from of [elsewhere, editor]) await expectShown(await askFrom(from, changes), error)
      const query = new URL((await askFrom(elsewhere, changes)).url).search
      const page = await getAs(`${gateway.url}/oauth/authorize${query}`, { accept: 'text/html' })
      expect(page.status).to.equal(400)
      expect(page.text).to.include(error).and.not.include('app.example')
    })
  }

  it('is shown on a page when the person denies', async () => {
    const visitor = createVisitor(gateway)
    const { pathname, search } = new URL((await askFrom(elsewhere, {})).url)
    await visitor.open(pathname + search)
    await visitor.press('use_key', { api_key: gateway.testKey })
    const { html } = await visitor.press('deny')
    expect(html).to.contain('<h1>Not connected</h1>').and.not.contain('http-equiv="refresh"')
    await expectShown(await askFrom(elsewhere, { prompt: 'none' }), 'login_required')
  })

  it('is sent to the client once a person has connected it with that host', async () => {
    const back = await consent(elsewhere)
    expect(back.origin + back.pathname).to.equal(elsewhere)
    for (const [name, changes, error] of wrong) {
      if (changes['response_mode'] === 'form_post') continue
      const answer = await askFrom(elsewhere, changes)
      expect(answer.status, name).to.equal(303)
      const target = new URL(answer.headers.get('location')!)
      expect(target.origin + target.pathname).to.equal(elsewhere)
      expect(target.search + target.hash).to.contain(`error=${error}`)
    }
    await expectShown(
      await askFrom('https://other.example/cb', { prompt: 'none' }),
      'login_required',
    )
    const { client_id: id } = await registered(gateway, { redirect_uris: [elsewhere] })
    const other = await askFrom(elsewhere, { prompt: 'none', client_id: id })
    await expectShown(other, 'login_required')
  })

  it('is shown on a page again once that connection is revoked', async () => {
    await gateway.db
      .updateTable('api_keys')
      .set({ revoked_at: Date.now() })
      .where('client_id', '=', stranger.client_id)
      .execute()
    await expectShown(await askFrom(elsewhere, { prompt: 'none' }), 'login_required')
  })
})
