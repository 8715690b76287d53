import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { components } from '../../generated/types.ts'
import { createVisitor, onwardOf, register } from '../oauth/pages/visitor.ts'
import { createAuthenticator } from './authenticator.ts'
import { callTool, textOf } from './mcp-client.ts'
import { createTestProvider } from './oauth-provider.ts'
import { approveClient } from './oauth-person.ts'

/**
 * A separate program, because Node reads NODE_EXTRA_CA_CERTS only at start. The program acts as a client and
 * as a person at the given URL, and prints the results as JSON.
 */
const [url = '', testKey = ''] = process.argv.slice(2)

/** Headers of an attacker who wants the gateway to use another address as its public address. */
const forged = {
  host: 'evil.example',
  'x-forwarded-host': 'evil.example',
  'x-forwarded-proto': 'http',
  forwarded: 'host=evil.example;proto=http',
}

const ada = { email: 'ada@example.com', name: 'Ada', password: 'a sentence of hers' }

type Schemas = components['schemas']
type Answer = { status: number; headers: IncomingHttpHeaders; text: string }

/** A GET with headers that `fetch` does not allow. */
const get = (path: string, headers: Record<string, string>) =>
  new Promise<Answer>((resolve, reject) => {
    const asked = request(url + path, { headers, servername: 'localhost' }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, text }),
      )
    })
    asked.on('error', reject).end()
  })

/** The whole OAuth flow with the SDK's client, up to a call and a token refresh. */
async function connect() {
  const authProvider = createTestProvider()
  const transport = () => new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider })
  const first = transport()
  const refused = await new Client({ name: 'test', version: '1' })
    .connect(first)
    .catch((error: unknown) => error)
  if (!(refused instanceof UnauthorizedError)) throw refused
  const back = await approveClient({ url, testKey }, authProvider.sentTo!)
  await first.finishAuth(back.searchParams.get('code')!)
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport())
  const tools = (await client.listTools()).tools.length
  const question = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hello' }] }
  const { isError = false, ...chat } = await callTool(client, 'chat', question)
  authProvider.kept.tokens = { ...authProvider.kept.tokens!, access_token: 'mag_oauth_over' }
  await client.listTools()
  const isRenewed = authProvider.kept.tokens.access_token !== 'mag_oauth_over'
  await client.close()
  const { origin, searchParams } = authProvider.sentTo!
  const asked = {
    origin,
    resource: searchParams.get('resource'),
    issuer: back.searchParams.get('iss'),
  }
  return { asked, tools, chat: { isError, text: textOf(chat) }, isRenewed }
}

/** Signs up, connects a client on the consent page, and checks that the next client needs no sign-in. */
async function signIn() {
  const asking = await register({ url })
  const visitor = createVisitor({ url })
  const first = await visitor.open(asking.path)
  const person = await fetch(`${url}/api/people`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify(ada),
  })
  const consent = await visitor.press('sign_in', { email: ada.email, password: ada.password })
  const cookies = [...visitor.cookies.keys()]
  // With a session, the consent page opens without sign-in.
  const again = await visitor.open((await register({ url })).path)
  await visitor.press('allow')
  const back = await visitor.ask(onwardOf(visitor.shown()))
  return {
    statuses: [first.status, person.status, consent.status, again.status, back.status],
    asksAtOnce: again.html.includes('Connect this application?'),
    cookies,
    set: person.headers.get('set-cookie'),
  }
}

/** Adds a passkey of the person who has signed up, and signs in with it, with forged headers. */
async function enterWithPasskey() {
  const { host: _, ...lies } = forged
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: url, ...lies, ...headers },
      body: JSON.stringify(body),
    })
  const first = await post('/api/sessions', { email: ada.email, password: ada.password })
  const [cookie = ''] = first.headers.getSetCookie()[0]!.split(';')
  const { csrf_token: csrf } = (await first.json()) as Schemas['SignedIn']
  const own = { cookie, 'x-csrf-token': csrf }
  const optionsOf = async (answer: Response) => (await answer.json()) as Schemas['PasskeyOptions']
  const starting = await post('/api/me/passkeys/options', { current_password: ada.password }, own)
  const authenticator = createAuthenticator(url)
  const credential = authenticator.create(await optionsOf(starting))
  const added = await post('/api/me/passkeys', { name: 'Laptop', credential }, own)
  const path = '/api/sessions/passkey'
  const asked = await optionsOf(await post(`${path}/options`, {}))
  const entered = await post(path, authenticator.get(asked))
  const lying = authenticator.get(await optionsOf(await post(`${path}/options`, {})), {
    origin: 'http://evil.example',
    rpId: 'evil.example',
  })
  // The address of the gateway without the proxy.
  const inside = { origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' }
  return {
    statuses: [added.status, entered.status, (await post(path, lying)).status],
    rpId: asked.public_key['rpId'],
    set: entered.headers.get('set-cookie'),
    refusal: await (await post(`${path}/options`, {}, inside)).text(),
  }
}

/** Compares answers to equal requests with correct and forged headers. */
async function compare() {
  const { path: authorize } = await register({ url })
  const ask = async (path: string, headers: Record<string, string>) => {
    const { status, headers: answered, text } = await get(path, headers)
    const seen = {
      status,
      challenge: answered['www-authenticate'],
      location: answered.location,
      cookies: answered['set-cookie']?.map((line) => line.replace(/=[^;]*/, '')),
      // Error bodies contain a request id, which differs.
      body: status === 200 ? text : undefined,
    }
    const ids = /(interaction|authorize)\/[\w-]+|expires=[^;"]+/g
    return JSON.parse(JSON.stringify(seen).replaceAll(ids, '$1')) as Partial<typeof seen>
  }
  const askAll = async (headers: Record<string, string>) => {
    const metadata = '/.well-known/oauth-protected-resource/mcp'
    return {
      metadata: [
        await ask(metadata, headers),
        await ask('/.well-known/oauth-authorization-server', headers),
      ],
      refusal: await ask('/mcp', headers),
      authorization: await ask(authorize, headers),
    }
  }
  return { honest: await askAll({}), forged: await askAll(forged) }
}

const facts = {
  connected: await connect(),
  person: await signIn(),
  passkey: await enterWithPasskey(),
  answers: await compare(),
}
process.stdout.write(`${JSON.stringify(facts)}\n`)
export type Facts = typeof facts
