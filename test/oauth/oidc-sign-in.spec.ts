import { expect } from 'chai'
import { useOidc, ada, createBrowser, publicUrl } from '../support/oidc-gateway.ts'
import { forEachStore } from '../support/each-store.ts'
import { startGateway } from '../support/gateway.ts'
import { expectError } from '../support/expect-error.ts'
import { createAuthenticator } from '../support/authenticator.ts'
import { ownPassword, withPasskey } from '../support/passkey-requests.ts'
import type { components } from '../../generated/types.ts'
import { createVisitor, register } from './pages/visitor.ts'

type PasskeyOptions = components['schemas']['PasskeyOptions']

forEachStore('sign-in with OpenID Connect', () => {
  const oidc = useOidc()
  const { start, people, members, actions, me } = oidc

  it('creates a person with the role of their groups, and finds them by the subject again', async () => {
    const browser = await start()
    const { answer, location } = await browser.open('/oauth/sign-in?return_to=/dashboard/keys')
    expect([answer.status, location]).to.deep.equal([303, '/dashboard/keys'])
    const person = (await (await me(browser)).json()) as { memberships: { role: string }[] }
    expect(person).to.include({ email: 'ada@example.com', name: 'Ada Lovelace' })
    expect(person.memberships.map(({ role }) => role)).to.deep.equal(['admin'])
    expect(await actions()).to.deep.equal(['person.sign_up', 'member.create', 'session.create'])
    // The provider now states another e-mail and another group.
    oidc.provider.people['ada-1'] = {
      ...ada,
      email: 'countess@partner.example',
      groups: ['owners'],
    }
    await createBrowser(oidc.gateway).open('/oauth/sign-in')
    expect(await people()).to.have.length(1)
    expect((await members()).map(({ role }) => role)).to.deep.equal(['owner'])
    expect(await actions()).to.include('member.update')
  })

  it('signs in to a page of the gateway alone', async () => {
    const browser = await start()
    for (const path of [
      '//evil.example',
      'https://evil.example/dashboard/',
      '/dashboard/\\evil',
      '/api/me',
    ]) {
      const from = `/oauth/sign-in?return_to=${encodeURIComponent(path)}`
      expect((await browser.open(from)).location).to.equal('/dashboard/')
    }
    const consent = '/oauth/interaction/V1StGXR8_Z5jdHi6B-myT'
    const { location } = await browser.open(`/oauth/sign-in?return_to=${consent}`)
    expect(location).to.equal(consent)
  })

  it('links the person with the verified e-mail, and keeps their accounts', async () => {
    const browser = await start()
    const { personId } = await oidc.gateway.people.signIn({ email: 'ada@example.com' })
    await oidc.gateway.people.signIn({ email: 'bob@example.com' })
    await browser.open('/oauth/sign-in')
    const [identity] = await oidc.gateway.db.selectFrom('person_identities').selectAll().execute()
    expect(identity).to.include({
      issuer: oidc.provider.issuer,
      subject: 'ada-1',
      person_id: personId,
    })
    expect(await actions()).to.deep.equal([
      'person.link_identity',
      'member.update',
      'session.create',
    ])
  })

  it('does not give a person to another subject with their e-mail', async () => {
    const browser = await start()
    await browser.open('/oauth/sign-in')
    oidc.provider.people['ada-2'] = ada
    oidc.provider.subject = 'ada-2'
    const { answer, text } = await createBrowser(oidc.gateway).open('/oauth/sign-in')
    expect(answer.status).to.equal(403)
    expect(text).to.contain('Another identity of the OpenID provider already uses your e-mail')
    expect(await people()).to.have.length(1)
  })

  it('takes a role from the e-mail domain, and the highest of several', async () => {
    await start()
    oidc.provider.people['ada-1'] = { ...ada, groups: 'guests', email: 'ada@Partner.example' }
    await createBrowser(oidc.gateway).open('/oauth/sign-in')
    expect((await members()).map(({ role }) => role)).to.deep.equal(['member'])
    oidc.provider.people['ada-1'] = { ...ada, groups: ['admins', 'owners'] }
    await createBrowser(oidc.gateway).open('/oauth/sign-in')
    expect((await members()).map(({ role }) => role)).to.deep.equal(['owner'])
    // The last owner stays one.
    oidc.provider.people['ada-1'] = ada
    await createBrowser(oidc.gateway).open('/oauth/sign-in')
    expect((await members()).map(({ role }) => role)).to.deep.equal(['owner'])
    await oidc.gateway.people.signIn()
    await createBrowser(oidc.gateway).open('/oauth/sign-in')
    expect((await members()).map(({ role }) => role)).to.have.members(['admin', 'owner'])
  })

  it('reads roles in a nested claim, for an account of the settings', async () => {
    await start()
    const id = await oidc.gateway.createAccount()
    await using first = oidc.gateway
    const variables = { OIDC_GROUP_CLAIM: 'realm_access.roles', OIDC_ACCOUNT: id }
    await start({ variables, beside: first })
    oidc.provider.people['ada-1'] = { ...ada, groups: [], realm_access: { roles: ['admins', 7] } }
    const { answer, text } = await createBrowser(oidc.gateway).open('/oauth/sign-in')
    expect([answer.status, text]).to.deep.equal([303, ''])
    expect((await members()).map((row) => [row.account_id, row.role])).to.deep.equal([
      [id, 'admin'],
    ])
  })

  it('completes several sign-ins that one browser began', async () => {
    const browser = await start()
    const begun = [await browser.toCallback(), await browser.toCallback()]
    const ended = await Promise.all(begun.map(({ location }) => browser.open(location)))
    expect(ended.map(({ answer }) => answer.status)).to.deep.equal([303, 303])
    expect(await people()).to.have.length(1)
    const cookie = (await browser.ask('/oauth/sign-in')).headers.get('set-cookie')
    expect(cookie).to.match(
      /^gateway_sign_in=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/,
    )
  })

  it('replaces passwords after an owner of the gateway has signed in so', async () => {
    const closed = { PASSWORD_SIGN_IN: 'closed', OIDC_LABEL: 'Sign in with <Example>' }
    const browser = await start({ variables: closed })
    const stateOf = async () =>
      (await oidc.gateway.fetch('/api/entrance', { key: null })).json() as Promise<object>
    const bob = { email: 'bob@example.com', name: 'Bob', password: 'correct horse battery' }
    const { email, password } = bob
    await oidc.gateway.setUp({ ...bob, token: await oidc.gateway.people.setUpLink() })
    const signIn = () => oidc.gateway.post('/api/sessions', { email, password }, { key: null })
    // An administrator cannot close passwords for the owner.
    await browser.open('/oauth/sign-in')
    expect((await signIn()).status).to.equal(201)
    expect(await stateOf()).to.include({ password_sign_in: 'open', oidc_label: closed.OIDC_LABEL })
    oidc.provider.people['ada-1'] = { ...ada, groups: ['owners'] }
    await browser.open('/oauth/sign-in')
    expect(await stateOf()).to.include({ password_sign_in: 'closed' })
    const error = { status: 403, code: 'password_sign_in_closed' }
    await expectError(await signIn(), error)
    const { token: invited } = await oidc.gateway.people.invite('eve@example.com')
    const { token } = await oidc.gateway.people.passwordLink(email)
    const eve = { name: 'Eve', password: 'correct horse battery' }
    for (const [path, body] of [
      ['/api/people', { ...eve, email: 'eve@example.com' }],
      ['/api/invitations/accept', { ...eve, token: invited }],
      ['/api/password-links/use', { token, new_password: password }],
    ] as const)
      await expectError(await oidc.gateway.post(path, body, { key: null }), error)
    // A set-up link of the command line lets an owner in nevertheless.
    const again = { ...bob, token: await oidc.gateway.people.setUpLink() }
    expect((await oidc.gateway.post('/api/setup', again, { key: null })).status).to.equal(201)
    const { path } = await register(oidc.gateway)
    const page = await createVisitor(oidc.gateway, { origin: publicUrl }).open(path)
    expect(page.html).to.contain('Sign in with &lt;Example&gt;').and.not.contain('name="password"')
    expect(page.html).to.match(/href="\/oauth\/sign-in\?return_to=%2Foauth%2Finteraction%2F[\w-]+"/)
  })

  it('replaces passkeys together with passwords; their persons still list and remove them', async () => {
    const browser = await start({ variables: { PASSWORD_SIGN_IN: 'closed' } })
    const { gateway } = oidc
    const { id, authenticator, headers } = await withPasskey(gateway, publicUrl)
    const post = (path: string, body: object) => gateway.post(path, body, { key: null, headers })
    const optionsOf = async (path: string) =>
      (await (await post(path, { current_password: ownPassword })).json()) as PasskeyOptions
    const stateOf = async () =>
      (await gateway.fetch('/api/entrance', { key: null })).json() as Promise<object>
    const [forSignIn, forAdding] = [
      await optionsOf('/api/sessions/passkey/options'),
      await optionsOf('/api/me/passkeys/options'),
    ]
    expect(await stateOf()).to.include({ password_sign_in: 'open', passkeys: true })
    oidc.provider.people['ada-1'] = { ...ada, groups: ['owners'] }
    await browser.open('/oauth/sign-in')
    expect(await stateOf()).to.include({ password_sign_in: 'closed', passkeys: false })
    const credential = createAuthenticator(publicUrl).create(forAdding)
    for (const [path, body] of [
      ['/api/sessions/passkey/options', {}],
      ['/api/sessions/passkey', authenticator.get(forSignIn)],
      ['/api/me/passkeys/options', { current_password: ownPassword }],
      ['/api/me/passkeys', { name: 'Another', credential }],
    ] as const) {
      const answer = await post(path, body)
      expect(answer.headers.get('set-cookie')).to.equal(null)
      await expectError(answer, { status: 403, code: 'password_sign_in_closed' })
    }
    const listed = await gateway.fetch('/api/me/passkeys', { key: null, headers })
    expect(((await listed.json()) as { data: object[] }).data).to.have.length(1)
    const removal = { method: 'DELETE', key: null, headers }
    expect((await gateway.fetch(`/api/me/passkeys/${id}`, removal)).status).to.equal(204)
  })

  it('is not offered without a provider', async () => {
    await using gateway = await startGateway()
    const entrance = await (await gateway.fetch('/api/entrance', { key: null })).json()
    expect(entrance).to.include({ oidc_label: null, password_sign_in: 'open' })
    const { answer, text } = await createBrowser(gateway).open('/oauth/sign-in')
    expect(answer.status).to.equal(404)
    expect(text).to.contain('OpenID Connect is not configured')
  })

  it('is refused to a member of an account that the settings name wrongly', async () => {
    const browser = await start({ variables: { OIDC_ACCOUNT: 'acc_none' } })
    const { answer, text } = await browser.open('/oauth/sign-in')
    expect(answer.status).to.equal(403)
    expect(text).to.contain('The account acc_none of OIDC_ACCOUNT does not exist')
  })
})
