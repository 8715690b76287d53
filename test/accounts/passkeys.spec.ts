import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { createAuthenticator, type Authenticator, type Lie } from '../support/authenticator.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'

type Schemas = components['schemas']

const origin = 'http://localhost:8080'
const password = 'a sentence of Ada'
const refused = { status: 401, code: 'invalid_credentials' } as const

forEachStore('passkeys', () => {
  let gateway: TestGateway
  let now: number
  let made = 0
  beforeEach(async () => {
    now = Date.parse('2026-11-22T12:00:00Z')
    gateway = await startGateway({ clock: () => now, variables: { BASE_URL: origin } })
  })
  afterEach(() => gateway.stop())

  const post = (path: string, body?: object, headers: Record<string, string> = {}) =>
    gateway.post(path, body ?? {}, { key: null, headers })
  const person = async () => {
    const token = await gateway.people.setUpLink()
    const email = `ada-${++made}@example.com`
    const answer = await post('/api/setup', { email, name: 'Ada Lovelace', password, token })
    return signedIn(answer, email)
  }
  const signedIn = async (answer: Response, email: string) => {
    expect(answer.status, await answer.clone().text()).to.equal(201)
    const { csrf_token: csrf, person: me } = (await answer.json()) as Schemas['SignedIn']
    const [cookie = ''] = answer.headers.getSetCookie()[0]!.split(';')
    return { id: me.id, email, headers: { cookie, 'x-csrf-token': csrf, origin } }
  }
  type Person = Awaited<ReturnType<typeof person>>
  const optionsFrom = async (answer: Response) => {
    expect(answer.status, await answer.clone().text()).to.equal(200)
    expect(answer.headers.get('cache-control')).to.equal('no-store')
    return (await answer.json()) as Schemas['PasskeyOptions']
  }
  const start = async ({ headers }: Person) =>
    optionsFrom(await post('/api/me/passkeys/options', { current_password: password }, headers))
  const add = (by: Person, credential: object, name = 'Laptop') =>
    post('/api/me/passkeys', { name, credential }, by.headers)
  const withPasskey = async (counter = 0) => {
    const ada = await person()
    const authenticator = createAuthenticator(origin, { counter })
    const answer = await add(ada, authenticator.create(await start(ada)))
    expect(answer.status, await answer.clone().text()).to.equal(201)
    return { ada, authenticator, passkey: (await answer.json()) as Schemas['Passkey'] }
  }
  const ask = async (from = gateway) =>
    optionsFrom(await from.post('/api/sessions/passkey/options', {}, { key: null }))
  const enter = (assertion: object, from = gateway) =>
    from.post('/api/sessions/passkey', assertion, { key: null, headers: { origin } })
  const tryTo = async (authenticator: Authenticator, lie: Lie) =>
    enter(authenticator.get(await ask(), lie))
  const events = async (action: string) => {
    const path = `/api/audit?action=${action}&order=asc`
    const answer = await gateway.fetch(path, { key: gateway.adminKey })
    return ((await answer.json()) as { data: Schemas['AuditEvent'][] }).data
  }
  const list = async ({ headers }: Person) => {
    const answer = await gateway.fetch('/api/me/passkeys', { key: null, headers })
    return ((await answer.json()) as Schemas['PasskeyList']).data
  }

  it('sign their person in, say when, and are removed', async () => {
    const { ada, authenticator, passkey } = await withPasskey()
    expect(passkey).to.include({ name: 'Laptop', last_used_at: null })
    const { public_key: asked } = await start(ada)
    expect(asked).to.deep.include({
      rp: { id: 'localhost', name: 'Model-Access Gateway' },
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      excludeCredentials: [{ id: authenticator.id, type: 'public-key' }],
    })
    now += 60_000
    const entered = await signedIn(await tryTo(authenticator, {}), ada.email)
    expect(entered.id).to.equal(ada.id)
    expect((await list(entered))[0]!.last_used_at).to.equal(new Date(now).toISOString())
    const path = `/api/me/passkeys/${passkey.id}`
    const other = await gateway.people.signIn()
    const remove = (headers: Record<string, string>) =>
      gateway.fetch(path, { method: 'DELETE', key: null, headers })
    await expectError(await remove(other.headers), { status: 404, code: 'not_found', param: 'id' })
    expect((await remove(ada.headers)).status).to.equal(204)
    expect(await list(ada)).to.deep.equal([])
    const { message } = await expectError(await tryTo(authenticator, {}), refused)
    expect(message).to.contain('does not know the passkey')
    expect((await events('person.add_passkey'))[0]).to.deep.include({
      target: ada.id,
      by: ada.id,
      after: { passkey: 'Laptop' },
    })
    expect((await events('person.remove_passkey'))[0]!.before).to.deep.equal({ passkey: 'Laptop' })
    expect((await events('session.create')).map(({ after }) => after)).to.deep.include({
      passkey: 'Laptop',
    })
  })

  it('are refused with another origin, host, challenge, person, type or counter, and without verification', async () => {
    const { ada, authenticator } = await withPasskey(5)
    const eve = await withPasskey()
    const lies: Lie[] = [
      { origin: 'https://evil.example' },
      { origin: 'http://localhost:8081' },
      { rpId: 'evil.example' },
      { challenge: Buffer.alloc(54).toString('base64url') },
      { challenge: 'AAAA' },
      { challenge: (await start(ada)).public_key['challenge'] as string },
      { userHandle: Buffer.from(eve.ada.id).toString('base64url') },
      { userHandle: '' },
      { type: 'webauthn.create' },
      { isVerified: false },
      { counter: 5 },
      { counter: 0 },
    ]
    for (const lie of lies) {
      // Attempts from elsewhere keep the limit of attempts out of this test.
      now += 3_600_000
      const answer = await tryTo(authenticator, lie)
      const { message } = await expectError(answer, refused)
      expect(message, JSON.stringify(lie)).to.match(/^The passkey |^This took/)
      expect(answer.headers.get('set-cookie')).to.equal(null)
    }
    const own = authenticator.get(await ask())
    const others = eve.authenticator.get(await ask())
    const { signature } = others.response
    await expectError(await enter({ ...own, response: { ...own.response, signature } }), refused)
    await expectError(await enter({ ...own, id: others.id, rawId: others.id }), refused)
    expect((await tryTo(authenticator, {})).status).to.equal(201)
  })

  it('answer a challenge once, and within five minutes', async () => {
    const { authenticator } = await withPasskey()
    const assertion = authenticator.get(await ask())
    const answers = await Promise.all(Array.from({ length: 4 }, () => enter(assertion)))
    expect(answers.map(({ status }) => status)).to.have.members([201, 401, 401, 401])
    const again = await expectError(await enter(assertion), refused)
    expect(again.message).to.contain('used already')
    const late = authenticator.get(await ask())
    now += 300_000
    const { message } = await expectError(await enter(late), refused)
    expect(message).to.contain('too long')
  })

  it('are added only with the password, in the session that started it, and once', async () => {
    const ada = await person()
    const wrong = await post('/api/me/passkeys/options', { current_password: 'no' }, ada.headers)
    await expectError(wrong, { ...refused, param: 'current_password' })
    const authenticator = createAuthenticator(origin)
    const options = await start(ada)
    const credential = authenticator.create(options)
    const elsewhere = await post('/api/sessions', { email: ada.email, password })
    await expectError(await add(await signedIn(elsewhere, ada.email), credential), refused)
    await expectError(await add(await person(), credential), refused)
    for (const lie of [{ origin: 'https://evil.example' }, { isVerified: false }, { rpId: 'b' }])
      await expectError(await add(ada, createAuthenticator(origin).create(options, lie)), refused)
    expect((await add(ada, credential)).status).to.equal(201)
    await expectError(await add(ada, credential), refused)
    // Another person's credential.
    const eve = await person()
    const taken = await expectError(await add(eve, authenticator.create(await start(eve))), refused)
    expect(taken.message).to.contain('registered already')
  })

  it('are at most ten for a person, also with concurrent requests', async () => {
    const ada = await person()
    const options: Schemas['PasskeyOptions'][] = []
    for (let at = 0; at < 12; at++) options.push(await start(ada))
    const answers = await Promise.all(
      options.map((one) => add(ada, createAuthenticator(origin).create(one))),
    )
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
    expect(statuses).to.deep.equal([...Array(10).fill(201), 400, 400])
    const full = await post('/api/me/passkeys/options', { current_password: password }, ada.headers)
    const { message } = await expectError(full, { status: 400, code: 'invalid_value' })
    expect(message).to.contain('Remove one first')
  })

  it('must wait after wrong answers, and failures are counted for their person', async () => {
    const { ada, authenticator } = await withPasskey()
    const tries = []
    for (let at = 0; at < 7; at++) tries.push(await tryTo(authenticator, { counter: 0, rpId: 'b' }))
    expect(tries.map(({ status }) => status).slice(0, 5)).to.deep.equal(Array(5).fill(401))
    await expectError(tries.at(-1)!, { status: 429, code: 'rate_limit_exceeded' })
    // The password has its own count, so nobody locks its person out with the id of a credential.
    const entered = await post('/api/sessions', { email: ada.email, password })
    expect(entered.status).to.equal(201)
    await tryTo(createAuthenticator(origin), { userHandle: 'none' })
    const failures = await events('session.refuse')
    expect(failures.map(({ target, after }) => [target, after!['times']])).to.have.deep.members([
      [ada.id, 5],
      ['unknown', 1],
    ])
  })

  it('are asked for at one process and answered at another', async () => {
    const { authenticator } = await withPasskey()
    await using other = await startGateway({
      beside: gateway,
      clock: () => now,
      variables: { BASE_URL: origin },
    })
    const assertion = authenticator.get(await ask(gateway))
    expect((await enter(assertion, other)).status).to.equal(201)
    await expectError(await enter(assertion, gateway), refused)
  })

  it('end when a link sets a new password, and stay when their person changes it', async () => {
    const { ada, authenticator } = await withPasskey()
    const next = 'another sentence of Ada'
    const body = { current_password: password, new_password: next }
    const changed = await gateway.fetch('/api/me/password', {
      method: 'PUT',
      key: null,
      headers: { ...ada.headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(changed.status).to.equal(204)
    expect((await tryTo(authenticator, {})).status).to.equal(201)
    const { token } = await gateway.people.passwordLink(ada.email)
    const reset = await post('/api/password-links/use', { token, new_password: password })
    expect(await list(await signedIn(reset, ada.email))).to.deep.equal([])
    await expectError(await tryTo(authenticator, {}), refused)
  })

  it('refuse a page of another address, and name the right one', async () => {
    const { ada } = await withPasskey()
    const page = {
      ...ada.headers,
      origin: 'http://127.0.0.1:8080',
      'sec-fetch-site': 'same-origin',
    }
    const body = { current_password: password }
    const error = { status: 400, code: 'invalid_value' }
    const answer = await post('/api/me/passkeys/options', body, page)
    const { message } = await expectError(answer, error)
    expect(message).to.contain('http://127.0.0.1:8080').and.contain(`only at ${origin}.`)
    for (const address of [
      'http://gateway.example',
      'https://192.0.2.1',
      'https://[2001:db8::1]',
    ]) {
      await using other = await startGateway({ beside: gateway, variables: { BASE_URL: address } })
      const headers = { origin: address, 'sec-fetch-site': 'same-origin' }
      const asked = await other.post('/api/sessions/passkey/options', {}, { key: null, headers })
      const { message: why } = await expectError(asked, error)
      expect(why).to.contain(`${address}: they need a host name with https`)
    }
    await using named = await startGateway({
      beside: gateway,
      variables: { BASE_URL: 'https://gateway.example' },
    })
    const asked = await named.post('/api/sessions/passkey/options', {}, { key: null })
    expect((await optionsFrom(asked)).public_key['rpId']).to.equal('gateway.example')
  })
})
