import { createHash } from 'node:crypto'
import type { Ask } from './ask.ts'
import { announcedMetadata, isChallenge, leadsToMetadata } from './checks/challenge.ts'
import {
  hasLists,
  hasOwnEndpoints,
  hasOwnIssuer,
  isMetadata,
  isOfThisResource,
  letsClientsIn,
  namesOwnServer,
  takesDocuments,
} from './checks/metadata.ts'
import {
  isPage,
  isRegistered,
  keepsRedirects,
  leadsByDocument,
  leadsToSignIn,
  refusesUnknownCode,
  signInPage,
} from './checks/sign-in.ts'
import type { Client } from './clients.ts'
import { discover, headersOf, initialize, openStream, post } from './messages.ts'
import { ownAddress, readObject, type Check, type Known, type Move } from './move.ts'
import { wellKnown, type Target } from './target.ts'

const openings: Record<Client['opening'][number], (target: Target) => Ask> = {
  initialize: (target) => post(target, initialize),
  discover: (target) => post(target, discover, headersOf.newest),
  stream: (target) => openStream(target),
}

/** What a client does before a person has signed in, in its order. */
export function movesOf(client: Client): Move[] {
  return [
    ...client.opening.map(open),
    ...client.looksAt.map(findResource),
    ...(['', '/mcp'] as const).map(findServer),
    register,
    signIn('the sign-in opens', leadsToSignIn, ({ clientId, client: { callback } }) =>
      clientId === undefined ? undefined : { id: clientId, callback },
    ),
    page,
    exchange,
    ...(client.document === undefined
      ? []
      : [
          signIn(
            `the sign-in opens for ${client.document.url}`,
            leadsByDocument,
            ({ server = {} }) =>
              takesDocuments(server)
                ? { id: client.document!.url, callback: client.document!.callback }
                : undefined,
          ),
        ]),
  ]
}

function open(opening: Client['opening'][number]): Move {
  return {
    works: 'is asked to sign in',
    ask: ({ target }) => openings[opening](target),
    expects: [isChallenge, leadsToMetadata],
    learn: (answer, known) => {
      const announced = ownAddress(announcedMetadata(answer), known.target)
      if (announced !== undefined) known.announced = announced
    },
  }
}

function findResource(place: Client['looksAt'][number]): Move {
  return {
    works: 'finds whose resource it is',
    ask: ({ target, announced }) => {
      const name = 'oauth-protected-resource'
      const path = place === 'path' ? target.endpoint.pathname : ''
      const url = place === 'announced' ? announced : wellKnown(target, name, path)
      return url && get(url)
    },
    expects: [isMetadata, isOfThisResource, namesOwnServer],
    learn: (answer, known) => {
      known.resource = readObject(answer)!
    },
  }
}

function findServer(path: '' | '/mcp'): Move {
  return {
    works: 'finds where to sign in',
    ask: ({ target }) => get(wellKnown(target, 'oauth-authorization-server', path)),
    expects: [isMetadata, hasOwnIssuer, hasOwnEndpoints, letsClientsIn, ...hasLists],
    learn: (answer, known) => {
      known.server = readObject(answer)!
    },
  }
}

const register: Move = {
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
  learn: (answer, known) => {
    const told = readObject(answer)!
    known.clientId = String(told['client_id'])
    const url = ownAddress(told['registration_client_uri'], known.target)
    const token = told['registration_access_token']
    if (url !== undefined && typeof token === 'string') known.registrationAccess = { url, token }
  },
}

/** PKCE (RFC 7636): what is asked for is thrown away, so the verifier need not be a secret. */
const verifier = 'a-connection-check-that-never-exchanges-its-code-00000'
const challenge = createHash('sha256').update(verifier).digest('base64url')

type Introduced = { id: string; callback: string }

function signIn(
  works: string,
  expects: Check,
  introduced: (known: Known) => Introduced | undefined,
): Move {
  return {
    works,
    ask: (known) => {
      const { server, target, client } = known
      const url = ownAddress(server?.['authorization_endpoint'], target)
      const who = introduced(known)
      if (url === undefined || who === undefined) return undefined
      url.search = new URLSearchParams({
        response_type: 'code',
        client_id: who.id,
        redirect_uri: who.callback,
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
    learn: ({ headers }, known) => {
      const page = signInPage(headers, known.target)
      if (page !== undefined) known.page = page
    },
    leniency: { mayRedirect: true, mayBePage: true },
  }
}

const page: Move = {
  works: 'the page for signing in comes',
  ask: ({ page: found }) =>
    found && { ...get(found.url), headers: { accept: 'text/html', cookie: found.cookie } },
  expects: [isPage],
  leniency: { mayBePage: true },
}

const exchange: Move = {
  works: 'reaches the place where tokens come from',
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
