import { passAllPathsRemedy, quoted, setBaseUrl, updateRemedy, type Fault } from '../fault.ts'
import { readObject, type Check, type Metadata } from '../step.ts'
import { otherOriginFault } from './challenge.ts'

/** Checks that the metadata exists and is a JSON object. */
export const isMetadata: Check = (answer, { request }) => {
  if (answer.status !== 200) {
    return {
      code: 'metadata_missing',
      text: `${request} is answered ${answer.status}: clients cannot find the metadata.`,
      remedy: `Pass /.well-known/ to the gateway too. For certificates, restrict the rule of nginx to \`location /.well-known/acme-challenge/\`: \`location /.well-known/\` also catches the metadata. ${passAllPathsRemedy}`,
    }
  }
  if (readObject(answer) !== undefined) return undefined
  return {
    code: 'metadata_unreadable',
    text: `${request} is answered 200, but not with a JSON object.`,
    remedy: `Another server answers there. ${passAllPathsRemedy}`,
  }
}

/** Checks that `resource` is the address that the client was given (RFC 9728 section 3.3). */
export const isOfThisResource: Check = (answer, { target }) => {
  const { resource } = readObject(answer)!
  const typed = target.endpoint.href
  if (resource === typed) return undefined
  return {
    code: 'resource_other',
    text: `The metadata names the resource ${quoted(resource)}, but the address is ${typed}. Clients require that both are identical.`,
    remedy: `${setBaseUrl(target.origin)} Give clients the address BASE_URL followed by /mcp, without a slash at the end.`,
  }
}

export const namesOwnServer: Check = (answer, { target: { origin } }) => {
  const { authorization_servers: servers } = readObject(answer)!
  const first: unknown = Array.isArray(servers) ? servers[0] : undefined
  const url = typeof first === 'string' ? URL.parse(first) : null
  if (url === null) {
    return {
      code: 'servers_missing',
      text: 'The metadata has no valid address in authorization_servers.',
      remedy: updateRemedy,
    }
  }
  return otherOriginFault(url, { what: 'authorization_servers', code: 'server', origin })
}

/** Checks that the issuer is the address that led to the metadata (RFC 8414 section 3.3). */
export const hasOwnIssuer: Check = (answer, { target: { origin }, resource }) => {
  const { issuer } = readObject(answer)!
  const servers = resource?.['authorization_servers']
  const first: unknown = Array.isArray(servers) ? servers[0] : undefined
  const expected = typeof first === 'string' && URL.parse(first)?.origin === origin ? first : origin
  if (issuer === expected) return undefined
  return {
    code: 'issuer_other',
    text: `The issuer is ${quoted(issuer)}, but authorization_servers names ${quoted(expected)}; clients compare the two byte for byte.`,
    remedy: setBaseUrl(origin),
  }
}

const endpoints = ['authorization_endpoint', 'token_endpoint', 'registration_endpoint']

/** Checks that each endpoint in the metadata is on the checked origin. */
export const hasOwnEndpoints: Check = (answer, { target: { origin } }) => {
  const server = readObject(answer)!
  for (const name of endpoints) {
    const value = server[name]
    if (value === undefined && name === 'registration_endpoint') continue
    const url = typeof value === 'string' ? URL.parse(value) : null
    if (url === null) {
      return {
        code: 'endpoint_unnamed',
        text: `The metadata has no ${name}.`,
        remedy: updateRemedy,
      }
    }
    const wrong = otherOriginFault(url, { what: name, code: 'endpoint', origin })
    if (wrong !== undefined) return wrong
  }
  return undefined
}

/** Required values of list members, and what fails without the value. */
const listed: readonly { list: string; word: string; code: string; otherwise: string }[] = [
  {
    list: 'code_challenge_methods_supported',
    word: 'S256',
    code: 's256_missing',
    otherwise: 'clients require PKCE to sign in',
  },
  {
    list: 'token_endpoint_auth_methods_supported',
    word: 'none',
    code: 'public_clients_missing',
    otherwise: 'programs on a person’s machine have no client secret and cannot sign in',
  },
  {
    list: 'response_types_supported',
    word: 'code',
    code: 'code_missing',
    otherwise: 'clients use the authorization code flow',
  },
  {
    list: 'grant_types_supported',
    word: 'refresh_token',
    code: 'refresh_missing',
    otherwise: 'people have to sign in again whenever a token expires',
  },
  {
    list: 'scopes_supported',
    word: 'offline_access',
    code: 'offline_access_missing',
    otherwise: 'ChatGPT requests no refresh token, and people have to sign in again each hour',
  },
]

/** One check for each required value. */
export const hasLists: readonly Check[] = listed.map(
  ({ list, word, code, otherwise }): Check =>
    (answer) =>
      includes(readObject(answer)!, list, word)
        ? undefined
        : { code, text: `${list} lacks '${word}': ${otherwise}.`, remedy: updateRemedy },
)

/** Checks that the metadata offers a method of registration that this client supports. */
export const allowsRegistration: Check = (answer, { client }) => {
  const server = readObject(answer)!
  if (typeof server['registration_endpoint'] === 'string') return undefined
  if (!takesDocuments(server)) {
    return {
      code: 'no_registration',
      text: 'The metadata has neither a registration_endpoint nor client_id_metadata_document_supported: no client can register.',
      remedy: 'Set CLIENT_REGISTRATION=open for the gateway.',
    }
  }
  if (client.hasDocument) return undefined
  return {
    code: 'registration_closed',
    text: 'The metadata has no registration_endpoint, and the client has no client ID metadata document.',
    remedy: 'Set CLIENT_REGISTRATION=open for the gateway, or use these clients with an API key.',
  }
}

/** Whether clients may use the address of their metadata document as their `client_id`. */
export function takesDocuments(server: Metadata): boolean {
  return (
    server['client_id_metadata_document_supported'] === true &&
    includes(server, 'token_endpoint_auth_methods_supported', 'none')
  )
}

function includes(server: Metadata, list: string, word: string): boolean {
  const words = server[list]
  return Array.isArray(words) && words.includes(word)
}

/** Checks that an unknown address is answered 404, since some clients take any 200 for metadata. */
export const isUnknown: Check = ({ status }, { request }): Fault | undefined => {
  if (status === 404) return undefined
  return {
    code: 'unknown_answered',
    text: `${request}, which does not exist, is answered ${status} instead of 404; Claude Code takes the answer for metadata.`,
    remedy: `A website or application answers all paths: exclude /.well-known/ from it. ${passAllPathsRemedy}`,
  }
}
