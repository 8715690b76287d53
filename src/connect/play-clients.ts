import { createHash } from 'node:crypto'
import { hasNoAnswer, type Answer, type Ask, type Requester, type NoAnswer } from './ask.ts'
import { brokenAnswer } from './checks/any-answer.ts'
import { announcedMetadata, isChallenge, challengeNamesMetadata } from './checks/challenge.ts'
import {
  hasLists,
  hasOwnEndpoints,
  hasOwnIssuer,
  isMetadata,
  isOfThisResource,
  allowsRegistration,
  namesOwnServer,
  takesDocuments,
} from './checks/metadata.ts'
import {
  isPage,
  isRegistered,
  keepsRedirects,
  reachesSignInByDocument,
  reachesSignIn,
  refusesUnknownCode,
  signInPage,
} from './checks/sign-in.ts'
import { clients, type Client } from './clients.ts'
import { withoutIds, type Fault } from './fault.ts'
import { discover, headersOf, initialize, openStream, post } from './messages.ts'
import { ownAddress, readObject, type Check, type ClientState, type Step } from './step.ts'
import { wellKnown, type Target } from './target.ts'

export type ClientResult = Awaited<ReturnType<typeof play>>

/** Runs the steps of each client in turn; equal GET requests of several clients are sent once. */
export async function playClients(requester: Requester, target: Target): Promise<ClientResult[]> {
  const ask = cachingAnswers(requester)
  const results: ClientResult[] = []
  for (const client of clients) results.push(await play(client, ask, target))
  return results
}

type Asking = (ask: Ask) => Promise<Answer | NoAnswer>

async function play(client: Client, ask: Asking, target: Target) {
  const state: ClientState = { target, client, request: '' }
  const works = new Set<string>()
  const faults: Fault[] = []
  /** Whether a registration was rate-limited, so that later steps were skipped. */
  let isLimited = false
  for (const step of stepsOf(client)) {
    const asked = step.ask(state)
    if (asked === undefined) continue
    const headers = { 'user-agent': client.userAgent, ...asked.headers }
    const response = await ask({ ...asked, headers })
    if (!hasNoAnswer(response) && response.status === 429) {
      isLimited = true
      continue
    }
    const found = judge(step, asked, { response, state })
    faults.push(...found)
    if (found.length === 0) works.add(step.works)
    else works.delete(step.works)
  }
  return { client, works: [...works], faults: distinct(faults), isLimited, state }
}

function judge(
  { expects, learn, leniency }: Step,
  request: Ask,
  { response, state }: { response: Answer | NoAnswer; state: ClientState },
): Fault[] {
  const broken = brokenAnswer(request, response, leniency)
  if (broken !== undefined) return [broken]
  const answer = response as Answer
  state.request = `${request.method} ${withoutIds(request.url.pathname)}`
  const faults: Fault[] = []
  for (const check of expects) {
    const fault = check(answer, state)
    if (fault === undefined) continue
    faults.push(fault)
    // Stops after a failed first check, which is of the answer's form: the other checks rely on it.
    if (check === expects[0]) return faults
  }
  // Stores members even after a fault, since the next step may still work.
  learn?.(answer, state)
  return faults
}

/** Sends equal GET requests without a query and cookies once, and returns the same answer for all. */
function cachingAnswers(requester: Requester): Asking {
  const answers = new Map<string, Promise<Answer | NoAnswer>>()
  return (ask) => {
    if (ask.method !== 'GET' || ask.url.search !== '' || ask.headers?.['cookie'] !== undefined) {
      return requester.ask(ask)
    }
    const { 'user-agent': _, ...headers } = ask.headers ?? {}
    const key = JSON.stringify([ask.url.href, headers])
    const answer = answers.get(key) ?? requester.ask(ask)
    answers.set(key, answer)
    return answer
  }
}

/** The faults without duplicates. */
function distinct(faults: readonly Fault[]): Fault[] {
  return [...new Map(faults.map((fault) => [fault.code + fault.text, fault])).values()]
}

const openings: Record<Client['opening'][number], (target: Target) => Ask> = {
  initialize: (target) => post(target, initialize),
  discover: (target) => post(target, discover, headersOf.newest),
  stream: (target) => openStream(target),
}

/** The steps of a client before a person signs in, in the client's order. */
function stepsOf(client: Client): Step[] {
  return [
    ...client.opening.map(open),
    ...client.looksAt.map(findResource),
    ...(['', '/mcp'] as const).map(findServer),
    register,
    signIn('the sign-in starts', reachesSignIn, ({ clientId, client: { callback } }) =>
      clientId === undefined ? undefined : { id: clientId, callback },
    ),
    page,
    exchange,
    ...(client.document === undefined
      ? []
      : [
          signIn(
            `the sign-in starts for ${client.document.url}`,
            reachesSignInByDocument,
            ({ server = {} }) =>
              takesDocuments(server)
                ? { id: client.document!.url, callback: client.document!.callback }
                : undefined,
          ),
        ]),
  ]
}

function open(opening: Client['opening'][number]): Step {
  return {
    works: 'gets a challenge to sign in',
    ask: ({ target }) => openings[opening](target),
    expects: [isChallenge, challengeNamesMetadata],
    learn: (answer, state) => {
      const announced = ownAddress(announcedMetadata(answer), state.target)
      if (announced !== undefined) state.announced = announced
    },
  }
}

function findResource(place: Client['looksAt'][number]): Step {
  return {
    works: 'finds the resource metadata',
    ask: ({ target, announced }) => {
      const name = 'oauth-protected-resource'
      const path = place === 'path' ? target.endpoint.pathname : ''
      const url = place === 'announced' ? announced : wellKnown(target, name, path)
      return url && get(url)
    },
    expects: [isMetadata, isOfThisResource, namesOwnServer],
    learn: (answer, state) => {
      state.resource = readObject(answer)!
    },
  }
}

function findServer(path: '' | '/mcp'): Step {
  return {
    works: 'finds the authorization server',
    ask: ({ target }) => get(wellKnown(target, 'oauth-authorization-server', path)),
    expects: [isMetadata, hasOwnIssuer, hasOwnEndpoints, allowsRegistration, ...hasLists],
    learn: (answer, state) => {
      state.server = readObject(answer)!
    },
  }
}

const register: Step = {
  works: 'registers',
  ask: ({ client, server, target }) => {
    const url = ownAddress(server?.['registration_endpoint'], target)
    if (url === undefined) return undefined
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    const { client_name: name, ...registration } = client.registration
    const body = { client_name: `${name} (connection check)`, ...registration }
    return { method: 'POST', url, headers, body: JSON.stringify(body) }
  },
  expects: [isRegistered, keepsRedirects],
  learn: (answer, state) => {
    const registered = readObject(answer)!
    state.clientId = String(registered['client_id'])
    const url = ownAddress(registered['registration_client_uri'], state.target)
    const token = registered['registration_access_token']
    if (url !== undefined && typeof token === 'string') state.registrationAccess = { url, token }
  },
}

/** The PKCE verifier (RFC 7636), which need not be secret, since no code is exchanged. */
const verifier = 'a-connection-check-that-never-exchanges-its-code-00000'
const challenge = createHash('sha256').update(verifier).digest('base64url')

function signIn(
  works: string,
  expects: Check,
  identityOf: (state: ClientState) => { id: string; callback: string } | undefined,
): Step {
  return {
    works,
    ask: (state) => {
      const { server, target, client } = state
      const url = ownAddress(server?.['authorization_endpoint'], target)
      const identity = identityOf(state)
      if (url === undefined || identity === undefined) return undefined
      url.search = new URLSearchParams({
        response_type: 'code',
        client_id: identity.id,
        redirect_uri: identity.callback,
        code_challenge: challenge,
        code_challenge_method: 'S256',
        state: 'connection-check',
        resource: target.endpoint.href,
        ...(client.scope === undefined ? {} : { scope: client.scope }),
        ...(client.prompt === undefined ? {} : { prompt: client.prompt }),
      }).toString()
      return { ...get(url), headers: { accept: 'text/html' } }
    },
    expects: [expects],
    learn: ({ headers }, state) => {
      const page = signInPage(headers, state.target)
      if (page !== undefined) state.page = page
    },
    leniency: { mayRedirect: true, mayBePage: true },
  }
}

const page: Step = {
  works: 'the sign-in page opens',
  ask: ({ page: found }) =>
    found && { ...get(found.url), headers: { accept: 'text/html', cookie: found.cookie } },
  expects: [isPage],
  leniency: { mayBePage: true },
}

const exchange: Step = {
  works: 'reaches the token endpoint',
  ask: ({ server, target, clientId, client }) => {
    const url = ownAddress(server?.['token_endpoint'], target)
    if (url === undefined || clientId === undefined) return undefined
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code: 'made-up',
      code_verifier: verifier,
      client_id: clientId,
      redirect_uri: client.callback,
      resource: target.endpoint.href,
    })
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    }
    return { method: 'POST', url, headers, body: form.toString() }
  },
  expects: [refusesUnknownCode],
}

function get(url: URL): Ask {
  return { method: 'GET', url, headers: { accept: 'application/json' } }
}
