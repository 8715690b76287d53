import { generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto'
import { expect } from 'chai'
import { forEachStore } from '../support/each-store.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { callback, createPkce, postForm, registered } from '../support/oauth-client.ts'
import { approveClient } from '../support/oauth-person.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'

type Tokens = { access_token: string; refresh_token: string }
type Claims = Record<string, unknown>

forEachStore('a client with private_key_jwt', () => {
  let gateway: TestGateway
  let host: PublicHost
  before(async () => {
    host = await startPublicHost()
    gateway = await startGateway({ publicNet: host.net })
  })
  after(async () => {
    await gateway.stop()
    await host.stop()
  })

  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwks = { keys: [{ ...pair.publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256' }] }
  const signing = { token_endpoint_auth_method: 'private_key_jwt', jwks }

  const assertionOf = (
    clientId: string,
    changes: Claims = {},
    key: KeyObject = pair.privateKey,
  ) => {
    const claims = {
      iss: clientId,
      sub: clientId,
      aud: gateway.url,
      jti: randomUUID(),
      exp: Math.floor(Date.now() / 1000) + 60,
      ...changes,
    }
    const text = [{ alg: 'ES256', kid: 'one' }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' })
    return `${text}.${signature.toString('base64url')}`
  }
  const proofOf = (assertion: string) => ({
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: assertion,
  })
  const grantOf = async (clientId: string) => {
    const { verifier, challenge } = createPkce()
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: callback,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    const back = await approveClient(gateway, `/oauth/authorize?${String(query)}`)
    return {
      grant_type: 'authorization_code',
      code: back.searchParams.get('code')!,
      redirect_uri: callback,
      code_verifier: verifier,
    }
  }
  const ask = (fields: Record<string, string>) => postForm(gateway, '/oauth/token', fields)
  const tokensOf = async (answer: Response): Promise<Tokens> => {
    const text = await answer.text()
    expect(answer.status, text).to.equal(200)
    return JSON.parse(text) as Tokens
  }
  const expectRefused = async (answer: Response) => {
    const text = await answer.text()
    expect(answer.status, text).to.equal(401)
    expect(JSON.parse(text)).to.include({ error: 'invalid_client' })
  }
  const published = () => {
    const id = host.address('/signed.json', 'app.public.example')
    const document = { client_id: id, client_name: 'App', redirect_uris: [callback], ...signing }
    host.serve('/signed.json', Buffer.from(JSON.stringify(document)))
    return id
  }
  const kinds: [name: string, find: () => Promise<string>][] = [
    ['has registered', async () => (await registered(gateway, signing)).client_id],
    ['publishes a document', async () => published()],
  ]

  for (const [name, find] of kinds) {
    it(`that ${name} gets tokens and refreshes them, each time with a new assertion`, async () => {
      const id = await find()
      const first = assertionOf(id)
      const { access_token: key, refresh_token: token } = await tokensOf(
        await ask({ ...(await grantOf(id)), ...proofOf(first) }),
      )
      expect((await gateway.fetch('/v1/models', { key })).status).to.equal(200)
      const renewal = { grant_type: 'refresh_token', refresh_token: token }
      await expectRefused(await ask({ ...renewal, ...proofOf(first) }))
      await tokensOf(await ask({ ...renewal, ...proofOf(assertionOf(id)) }))
    })
  }

  it('is accepted once for four concurrent requests with the same assertion', async () => {
    const { client_id: id } = await registered(gateway, signing)
    const { refresh_token: token } = await tokensOf(
      await ask({ ...(await grantOf(id)), ...proofOf(assertionOf(id)) }),
    )
    const once = { token, ...proofOf(assertionOf(id)) }
    const answers = await Promise.all(
      [1, 2, 3, 4].map(() => postForm(gateway, '/oauth/introspect', once)),
    )
    const taken = answers.filter(({ status }) => status === 200)
    expect(taken.length).to.equal(1)
    for (const answer of answers) if (answer !== taken[0]) await expectRefused(answer)
  })

  it('is refused without an assertion, and with a wrong one', async () => {
    const { client_id: id } = await registered(gateway, signing)
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const now = Math.floor(Date.now() / 1000)
    const wrong = [
      assertionOf(id, {}, other.privateKey),
      assertionOf(id, { aud: 'https://other.example' }),
      assertionOf(id, { exp: now - 60 }),
      assertionOf(id, { exp: undefined }),
      assertionOf(id, { jti: undefined }),
      assertionOf(id, { iss: 'someone' }),
      `${assertionOf(id).split('.').slice(0, 2).join('.')}.`,
    ]
    const renewal = { grant_type: 'refresh_token', refresh_token: 'mag_refresh_none' }
    for (const assertion of wrong)
      await expectRefused(await ask({ ...renewal, ...proofOf(assertion) }))
    await expectRefused(await ask({ ...renewal, client_id: id }))
  })
})
