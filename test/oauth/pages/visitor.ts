import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { TestGateway } from '../../support/gateway.ts'
import { promisedFetch } from '../../support/oauth-promises.ts'

type Init = {
  method?: string
  body?: URLSearchParams | string
  headers?: Record<string, string>
}
type Cookie = { value: string; path: string }

/** The page that a visitor sees. */
export type Shown = { status: number; headers: Headers; html: string; path: string }

/** A minimal browser: stores cookies by path, follows redirects and submits forms. */
export type Visitor = {
  cookies: Map<string, Cookie>
  /** Follows redirects within the gateway. */
  open(path: string, init?: Init): Promise<Shown>
  /** Sends one request without following redirects. */
  ask(path: string, init?: Init): Promise<Response>
  /** Submits a form of the current page with the value of a button. */
  press(action: string, fields?: Record<string, string>, shown?: Shown): Promise<Shown>
  /** The current page. */
  shown(): Shown
}

/**
 * Visits `gateway`. Its URL is read for each request. `origin` is its public origin if that differs,
 * and `always` are headers of each request.
 */
export function createVisitor(
  gateway: Pick<TestGateway, 'url'>,
  { origin = gateway.url, always = {} }: { origin?: string; always?: Record<string, string> } = {},
): Visitor {
  const cookies = new Map<string, Cookie>()
  let last: Shown | undefined
  const keep = (response: Response) => {
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';', 1)
      const at = pair.indexOf('=')
      const name = pair.slice(0, at)
      const path = /; *path=([^;]*)/i.exec(line)?.[1] ?? '/'
      const isOver = /max-age=0|expires=Thu, 01 Jan 1970/i.test(line)
      if (isOver) cookies.delete(`${name} ${path}`)
      else cookies.set(`${name} ${path}`, { value: pair.slice(at + 1), path })
    }
  }
  const ask: Visitor['ask'] = async (path, init = {}) => {
    const sent = [...cookies]
      .filter(
        ([, one]) =>
          path === one.path ||
          path.startsWith(one.path.replace(/\/?$/, '/')) ||
          path.startsWith(`${one.path}?`),
      )
      .map(([name, one]) => `${name.split(' ', 1)[0]}=${one.value}`)
    const own = { cookie: sent.join('; '), 'sec-fetch-site': 'same-origin', ...always }
    const headers = { ...own, ...init.headers }
    const response = await promisedFetch(gateway.url + path, {
      ...init,
      headers,
      redirect: 'manual',
    })
    keep(response)
    return response
  }
  const open: Visitor['open'] = async (path, init) => {
    const response = await ask(path, init)
    const location = response.headers.get('location')
    if (location !== null && new URL(location, origin).origin === origin) {
      const { pathname, search } = new URL(location, origin)
      return open(pathname + search)
    }
    const { status, headers } = response
    last = { status, headers, html: await response.text(), path }
    return last
  }
  const shown = () => last ?? expect.fail('no page is open')
  return {
    cookies,
    ask,
    open,
    shown,
    press: (action, fields = {}, page = shown()) => {
      const token = fieldIn(page.html, 'csrf_token')
      const account = accountIn(page.html)
      const body = new URLSearchParams({
        csrf_token: token ?? '',
        ...(account !== undefined && { account_id: account }),
        ...fields,
        action,
      })
      return open(page.path.split('?', 1)[0]!, { method: 'POST', body })
    },
  }
}

/** The value of a field in a page. */
export function fieldIn(html: string, name: string): string | undefined {
  return new RegExp(`name="${name}"[^>]* value="([^"]*)"`).exec(html)?.[1]
}

/** The id of the account that a page shows, or of the first account that it offers. */
function accountIn(html: string): string | undefined {
  return fieldIn(html, 'account_id') ?? /<option value="([^"]*)"/.exec(html)?.[1]
}

/** Registers a client; returns its id and the path of its authorization request. */
export async function register(
  { url }: Pick<TestGateway, 'url'>,
  { name = 'Editor', redirectUri = 'http://127.0.0.1:33418/' } = {},
) {
  const response = await promisedFetch(`${url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: name,
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
    }),
  })
  const { client_id: clientId } = (await response.json()) as { client_id: string }
  expect(clientId).to.be.a('string')
  const verifier = randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state: 'the state',
    scope: 'mcp',
  })
  return {
    clientId,
    path: `/oauth/authorize?${String(query)}`,
    /** Exchanges a code for tokens. */
    exchange: async (code: string) => {
      const body = new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: clientId,
        code,
        redirect_uri: redirectUri,
        code_verifier: verifier,
      })
      const answer = await promisedFetch(`${url}/oauth/token`, { method: 'POST', body })
      expect(answer.status).to.equal(200)
      return (await answer.json()) as { access_token: string }
    },
  }
}

/** The URL to which a page's refresh leads. */
export function onwardOf({ html }: Shown): string {
  const found = /http-equiv="refresh" content="0; url=([^"]*)"/.exec(html)?.[1]
  return found?.replaceAll('&amp;', '&') ?? expect.fail(`the page leads nowhere:\n${html}`)
}
