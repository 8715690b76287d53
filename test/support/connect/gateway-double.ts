import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

type Answer = { status: number; headers?: Record<string, string>; json?: unknown; page?: string }

/** A test double of a gateway with OAuth sign-in. Refuses every request that the gateway refuses. */
export type GatewayDouble = {
  url: string
  key: string
  /** The base URL that the metadata announces, and members that a test adds to the metadata. */
  baseUrl: string
  saysAlso: { server: object; resource: object }
  registered: Map<string, readonly string[]>
  /** Interval of comments in an event stream. */
  pingMs: number
  stop(): Promise<void>
}

const key = 'mag_test_a-key-of-the-double'
const cookie = '_interaction=one'

export async function startGatewayDouble(): Promise<GatewayDouble> {
  const registered: GatewayDouble['registered'] = new Map()
  const double = {
    key,
    baseUrl: '',
    saysAlso: { server: {}, resource: {} },
    registered,
    pingMs: 20,
  }
  let requests = 0
  const server = createServer((request, response) => {
    void read(request).then((body) => {
      const url = new URL(request.url ?? '/', 'http://double')
      response.setHeader('x-request-id', `req_${++requests}`)
      const origin = request.headers.origin
      if (origin !== undefined) response.setHeader('access-control-allow-origin', '*')
      if (request.method === 'OPTIONS') return response.writeHead(204).end()
      if (url.pathname === '/mcp' && streams(request)) return stream(response, double.pingMs)
      return write(response, answer(double, { request, url, body }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return Object.assign(double, { url, stop })
}

type Asked = { request: IncomingMessage; url: URL; body: string }
type Double = Omit<GatewayDouble, 'url' | 'stop'>

function answer(double: Double, asked: Asked): Answer {
  const { baseUrl, saysAlso } = double
  const { url, request } = asked
  const resource = {
    resource: `${baseUrl}/mcp`,
    authorization_servers: [baseUrl],
    scopes_supported: ['mcp'],
    ...saysAlso.resource,
  }
  const server = {
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}/oauth/authorize`,
    token_endpoint: `${baseUrl}/oauth/token`,
    registration_endpoint: `${baseUrl}/oauth/register`,
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
    response_types_supported: ['code'],
    scopes_supported: ['mcp', 'offline_access'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    client_id_metadata_document_supported: true,
    ...saysAlso.server,
  }
  switch (`${request.method} ${url.pathname}`) {
    case 'GET /ready':
      return { status: 200, json: {} }
    case 'GET /.well-known/oauth-protected-resource':
    case 'GET /.well-known/oauth-protected-resource/mcp':
      return { status: 200, json: resource }
    case 'GET /.well-known/oauth-authorization-server':
    case 'GET /.well-known/oauth-authorization-server/mcp':
      return { status: 200, json: server }
    case 'POST /oauth/register':
      return register(double, JSON.parse(asked.body) as Record<string, unknown>)
    case 'GET /oauth/authorize':
      return authorize(double, url.searchParams)
    case 'GET /oauth/interaction/one':
      return request.headers.cookie === cookie
        ? { status: 200, page: '<h1>Sign in</h1>' }
        : refusal(400, 'invalid_request', 'interaction session cookie not found')
    case 'POST /oauth/token':
      return refusal(400, 'invalid_grant', 'grant request is invalid')
    case 'GET /mcp':
    case 'POST /mcp':
    case 'DELETE /mcp':
      return toolServer(double, asked)
    default:
      return { status: 404, json: { error: { message: 'There is nothing here.' } } }
  }
}

function toolServer({ baseUrl }: Double, { request, body }: Asked): Answer {
  const given = keyOf(request)
  if (given !== key) {
    const invalid = given === undefined ? '' : ', error="invalid_token"'
    const metadata = `${baseUrl}/.well-known/oauth-protected-resource/mcp`
    const challenge = `Bearer realm="mcp", resource_metadata="${metadata}", scope="mcp"${invalid}`
    const error = { code: -32001, message: 'No key, or a wrong one.' }
    return { status: 401, headers: { 'www-authenticate': challenge }, json: { error } }
  }
  if (request.method !== 'POST') return { status: 204 }
  const { method } = JSON.parse(body) as { method: string }
  if (request.headers.origin !== undefined) {
    return { status: 403, json: { error: { code: -32000, message: 'This origin may not.' } } }
  }
  const { 'mcp-session-id': session = 'a' } = request.headers
  if (session !== 'a') {
    return { status: 404, json: { error: { code: -32001, message: 'Session not found.' } } }
  }
  const tools = [{ name: 'chat' }]
  const headers: Record<string, string> = method === 'initialize' ? { 'mcp-session-id': 'a' } : {}
  return { status: 200, headers, json: { jsonrpc: '2.0', id: 0, result: { tools } } }
}

const loopback = /^http:\/\/(localhost|127\.0\.0\.1)(:\d+)?\//

function register({ registered }: Double, body: Record<string, unknown>): Answer {
  const uris = body['redirect_uris'] as string[]
  const wrong = uris.some((one) => /^(javascript|data):/.test(one) || isFarHttp(one))
  if (wrong) return refusal(400, 'invalid_redirect_uri', 'redirect_uris must be https or loopback')
  const id = `client_${registered.size + 1}`
  registered.set(id, uris)
  const { client_name: name } = body
  return { status: 201, json: { client_id: id, client_name: name, redirect_uris: uris } }
}

function isFarHttp(uri: string): boolean {
  return uri.startsWith('http:') && !loopback.test(uri)
}

function authorize({ baseUrl, registered }: Double, params: URLSearchParams): Answer {
  const id = params.get('client_id')!
  const portless = (uri: string) => uri.replace(loopback, 'http://$1/')
  const known = registered.get(id)?.map(portless)
  const isDocument = id.startsWith('https://')
  if (known === undefined && !isDocument) return refusal(400, 'invalid_client', 'client is invalid')
  if (known?.includes(portless(params.get('redirect_uri')!)) === false) {
    return refusal(400, 'invalid_redirect_uri', 'redirect_uri did not match')
  }
  const isWhole =
    params.get('code_challenge_method') === 'S256' && params.get('resource') === `${baseUrl}/mcp`
  if (!isWhole) return refusal(400, 'invalid_target', 'resource indicator is missing, or unknown')
  const headers = {
    location: '/oauth/interaction/one',
    'set-cookie': `${cookie}; Path=/; HttpOnly`,
  }
  return { status: 303, headers }
}

function refusal(status: number, error: string, text: string): Answer {
  return { status, json: { error, error_description: text } }
}

function streams(request: IncomingMessage): boolean {
  const wants = request.headers.accept?.includes('text/event-stream') === true
  return request.method === 'GET' && wants && keyOf(request) === key
}

function stream(response: ServerResponse, pingMs: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(': here\n\n')
  const pings = setInterval(() => response.write(': still\n\n'), pingMs)
  response.on('close', () => clearInterval(pings))
}

function keyOf({ headers }: IncomingMessage): string | undefined {
  return (
    headers.authorization?.replace('Bearer ', '') ?? (headers['x-api-key'] as string | undefined)
  )
}

function write(response: ServerResponse, { status, headers = {}, json, page }: Answer): void {
  const type = page === undefined ? 'application/json' : 'text/html'
  const body = page ?? (json === undefined ? '' : JSON.stringify(json))
  response.writeHead(status, { 'content-type': type, ...headers }).end(body)
}

async function read(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}
