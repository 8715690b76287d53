import { expect } from 'chai'
import { useOidc, ada, createBrowser } from '../support/oidc-gateway.ts'
import { forEachStore } from '../support/each-store.ts'
import { metric } from '../support/metric.ts'
import type { TestOpenIdProvider } from '../support/openid-provider.ts'

forEachStore('a refused sign-in with OpenID Connect', () => {
  const oidc = useOidc()
  const { start, people } = oidc

  it('refuses people without a role, an e-mail, or a verified e-mail, and says why', async () => {
    await start()
    for (const [change, words] of [
      [{ groups: ['guests'] }, 'Ada@Example.com has no role on this gateway'],
      [{ groups: undefined, email: 'eve@notpartner.example' }, 'settings name none of your groups'],
      [{ groups: [], email: 'eve@partner.example', email_verified: false }, 'has no role'],
      [{ email: undefined }, 'states no e-mail'],
      [{ email_verified: false }, 'is verified'],
      [{ email_verified: undefined }, 'is verified'],
    ] as const) {
      oidc.provider.people['ada-1'] = { ...ada, ...change }
      const browser = createBrowser(oidc.gateway)
      const { answer, text } = await browser.open('/oauth/sign-in')
      expect([answer.status, text], words).to.satisfy(
        ([status, page]: [number, string]) => status === 403 && page.includes(words),
      )
      expect(text).to.contain('<h1>No access</h1>').and.contain('href="/dashboard/"')
      expect(browser.jars.gateway.has('gateway_session')).to.equal(false)
    }
    expect(await people()).to.deep.equal([])
    expect(await metric(oidc.gateway, 'gateway_sign_in_failures_total')).to.equal(6)
    const refusals = await oidc.gateway.db
      .selectFrom('audit_events')
      .select(['target', 'after'])
      .where('action', '=', 'session.refuse')
      .execute()
    expect(refusals).to.have.length(1)
    expect(refusals[0]!.target).to.equal('unknown')
    expect(JSON.parse(refusals[0]!.after!)).to.include({ times: 6 })
  })

  it('refuses an answer with another issuer, nonce, audience, time or signature', async () => {
    await start()
    const seconds = () => Math.floor(oidc.nowMs / 1000)
    const wrong: [Partial<TestOpenIdProvider>, RegExp][] = [
      [{ change: (claims) => ({ ...claims, iss: 'https://evil.example' }) }, / &quot;iss&quot; /],
      [{ change: (claims) => ({ ...claims, nonce: 'another' }) }, / &quot;nonce&quot; /],
      [{ change: (claims) => ({ ...claims, nonce: undefined }) }, / &quot;nonce&quot; /],
      [{ change: (claims) => ({ ...claims, aud: 'another-client' }) }, / &quot;aud&quot; /],
      [
        { change: (claims) => ({ ...claims, aud: ['gateway', 'b'], azp: 'b' }) },
        / &quot;azp&quot; /,
      ],
      [{ change: (claims) => ({ ...claims, exp: seconds() - 90 }) }, / &quot;exp&quot; /],
      [{ change: (claims) => ({ ...claims, nbf: seconds() + 90 }) }, / &quot;nbf&quot; /],
      [{ change: (claims) => ({ ...claims, sub: undefined }) }, / &quot;sub&quot; /],
      [{ forges: true }, /signature/],
      [
        { redirect: (answer) => answer.searchParams.set('iss', 'https://evil.example') },
        / &quot;iss&quot; /,
      ],
      [{ redirect: (answer) => answer.searchParams.delete('iss') }, / &quot;iss&quot; /],
    ]
    const right = { ...oidc.provider }
    for (const [change, words] of wrong) {
      Object.assign(oidc.provider, {
        change: right.change,
        redirect: right.redirect,
        forges: false,
        ...change,
      })
      const browser = createBrowser(oidc.gateway)
      const { answer, text } = await browser.open('/oauth/sign-in')
      expect(answer.status, String(words)).to.equal(403)
      expect(text).to.contain('The answer of the OpenID provider is invalid').and.match(words)
      expect(browser.jars.gateway.has('gateway_session')).to.equal(false)
    }
    expect(await people()).to.deep.equal([])
    // Clocks may differ by a minute.
    Object.assign(oidc.provider, right)
    oidc.provider.change = (claims) => ({ ...claims, exp: seconds() - 45, nbf: seconds() + 45 })
    expect((await createBrowser(oidc.gateway).open('/oauth/sign-in')).answer.status).to.equal(303)
  })

  it('refuses an answer to another browser, another state, a late answer and a replayed code', async () => {
    const browser = await start()
    const { location } = await browser.toCallback()
    const expired = 'has expired or was started in another browser'
    const refused = async (
      by: ReturnType<typeof createBrowser>,
      address: string,
      words: string,
    ) => {
      const { answer, text } = await by.open(address)
      expect(text).to.contain(words)
      expect([403, 404]).to.include(answer.status)
    }
    await refused(createBrowser(oidc.gateway), location, expired)
    const other = new URL(location)
    other.searchParams.set('state', `${other.searchParams.get('state')}x`)
    await refused(browser, other.href, expired)
    other.searchParams.delete('state')
    await refused(browser, other.href, expired)
    const elsewhere = createBrowser(oidc.gateway)
    const { location: theirs } = await elsewhere.toCallback()
    const injected = new URL(location)
    injected.searchParams.set('code', new URL(theirs).searchParams.get('code')!)
    await refused(browser, injected.href, 'invalid_grant')
    oidc.nowMs += 601_000
    await refused(browser, location, expired)
    oidc.nowMs -= 601_000
    expect((await browser.open(location)).answer.status).to.equal(303)
    await refused(browser, location, 'invalid_grant')
    expect(await people()).to.have.length(1)
  })

  it('repeats the words of the provider without its private addresses', async () => {
    const browser = await start()
    oidc.provider.subject = undefined
    const { answer, text } = await browser.open('/oauth/sign-in')
    expect(answer.status).to.equal(403)
    expect(text).to.contain('access_denied: The person denied. Ask [address].')
  })

  it('is not possible while the provider is away, and passwords still work', async () => {
    const browser = await start()
    oidc.provider.failsWith = 500
    const { answer, text } = await browser.open('/oauth/sign-in')
    expect([answer.status, answer.headers.get('retry-after')]).to.deep.equal([503, '5'])
    expect(text).to.contain('cannot be reached, or fails')
    const asked = oidc.provider.requests.length
    expect((await browser.ask('/oauth/sign-in')).status).to.equal(503)
    expect(oidc.provider.requests).to.have.length(asked)
    const bob = { email: 'bob@example.com', name: 'Bob', password: 'correct horse battery' }
    await oidc.gateway.setUp({ ...bob, token: await oidc.gateway.people.setUpLink() })
    expect((await oidc.gateway.post('/api/sessions', bob, { key: null })).status).to.equal(400)
    const { email, password } = bob
    const entered = await oidc.gateway.post('/api/sessions', { email, password }, { key: null })
    expect(entered.status).to.equal(201)
    oidc.provider.failsWith = undefined
    oidc.nowMs += 5_001
    const { location } = await browser.toCallback()
    oidc.provider.failsWith = 503
    expect((await browser.open(location)).answer.status).to.equal(503)
    oidc.provider.failsWith = undefined
    expect((await browser.open(location)).answer.status).to.equal(303)
    expect(oidc.gateway.logText()).not.to.contain(oidc.provider.clientSecret)
  })

  it('names the cause to the operator when the client secret is wrong', async () => {
    const browser = await start({ variables: { OIDC_CLIENT_SECRET: 'not the secret' } })
    const { answer, text } = await browser.open('/oauth/sign-in')
    expect(answer.status).to.equal(403)
    expect(text).to.contain('invalid_client')
  })

  it('is slowed down after many refused answers', async () => {
    const browser = await start()
    const { location } = await browser.toCallback()
    const answer = new URL(location)
    answer.searchParams.set('code', 'guessed')
    let status = 0
    for (let tries = 0; status !== 429 && tries < 60; tries++)
      status = (await browser.ask(answer.href)).status
    expect(status).to.equal(429)
  })
})
