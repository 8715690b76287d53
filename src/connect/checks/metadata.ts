import { passAllPaths, quoted, setBaseUrl, type Fault } from '../fault.ts'
import { readObject, type Check, type Metadata } from '../move.ts'
import { elsewhere } from './challenge.ts'

const update = 'Update the gateway, or remove what rewrites its answers from the proxy.'

/** The document is there, as JSON. */
export const isMetadata: Check = (answer, { asked }) => {
  if (answer.status !== 200) {
    return {
      code: 'metadata_missing',
      text: `${asked} is answered ${answer.status}: there is no metadata for clients to find.`,
      remedy: `Pass /.well-known/ to the gateway too; a rule of nginx for certificates (\`location /.well-known/\`) takes it away, \`location /.well-known/acme-challenge/\` does not. ${passAllPaths}`,
    }
  }
  if (readObject(answer) !== undefined) return undefined
  return {
    code: 'metadata_unreadable',
    text: `${asked} is answered 200, but with no JSON object.`,
    remedy: `Something else answers there. ${passAllPaths}`,
  }
}

/** RFC 9728: what is protected is what the person typed, and who signs people in is here. */
export const isOfThisResource: Check = (answer, { target }) => {
  const { resource } = readObject(answer)!
  const typed = target.endpoint.href
  if (resource === typed) return undefined
  return {
    code: 'resource_other',
    text: `The metadata is for the resource ${quoted(resource)}, not for ${typed}; clients compare the two to the letter.`,
    remedy: `${setBaseUrl(target.origin)} The address to type is BASE_URL with /mcp, without a slash behind it.`,
  }
}

export const namesOwnServer: Check = (answer, { target: { origin } }) => {
  const { authorization_servers: servers } = readObject(answer)!
  const first: unknown = Array.isArray(servers) ? servers[0] : undefined
  const url = typeof first === 'string' ? URL.parse(first) : null
  if (url === null) {
    return {
      code: 'servers_missing',
      text: 'The metadata has no address in authorization_servers.',
      remedy: update,
    }
  }
  return elsewhere(url, { what: 'authorization_servers', code: 'server', origin })
}

/** RFC 8414 section 3.3: the issuer is the address under which the metadata was looked for. */
export const hasOwnIssuer: Check = (answer, { target: { origin }, resource }) => {
  const { issuer } = readObject(answer)!
  const servers = resource?.['authorization_servers']
  const first: unknown = Array.isArray(servers) ? servers[0] : undefined
  const expected = typeof first === 'string' && URL.parse(first)?.origin === origin ? first : origin
  if (issuer === expected) return undefined
  return {
    code: 'issuer_other',
    text: `The issuer is ${quoted(issuer)}, and authorization_servers says ${quoted(expected)}; clients compare the two byte for byte.`,
    remedy: setBaseUrl(origin),
  }
}

const endpoints = ['authorization_endpoint', 'token_endpoint', 'registration_endpoint']

/** Each endpoint is on the origin that was typed. */
export const hasOwnEndpoints: Check = (answer, { target: { origin } }) => {
  const server = readObject(answer)!
  for (const name of endpoints) {
    const value = server[name]
    if (value === undefined && name === 'registration_endpoint') continue
    const url = typeof value === 'string' ? URL.parse(value) : null
    if (url === null) {
      return { code: 'endpoint_unnamed', text: `The metadata has no ${name}.`, remedy: update }
    }
    const wrong = elsewhere(url, { what: name, code: 'endpoint', origin })
    if (wrong !== undefined) return wrong
  }
  return undefined
}

/** What lists of the metadata have to have, and who breaks without it. */
const listed: readonly { list: string; word: string; code: string; otherwise: string }[] = [
  {
    list: 'code_challenge_methods_supported',
    word: 'S256',
    code: 's256_missing',
    otherwise: 'clients refuse to sign in without PKCE',
  },
  {
    list: 'token_endpoint_auth_methods_supported',
    word: 'none',
    code: 'public_clients_missing',
    otherwise: 'programs on a person’s machine have no secret to sign in with',
  },
  {
    list: 'response_types_supported',
    word: 'code',
    code: 'code_missing',
    otherwise: 'clients ask for a code',
  },
  {
    list: 'grant_types_supported',
    word: 'refresh_token',
    code: 'refresh_missing',
    otherwise: 'people have to sign in again whenever a token has expired',
  },
  {
    list: 'scopes_supported',
    word: 'offline_access',
    code: 'offline_access_missing',
    otherwise: 'ChatGPT then asks for no refresh token, and people have to sign in again each hour',
  },
]

/** A check for each word that has to be in a list. */
export const hasLists: readonly Check[] = listed.map(
  ({ list, word, code, otherwise }): Check =>
    (answer) =>
      includes(readObject(answer)!, list, word)
        ? undefined
        : { code, text: `${list} lacks '${word}': ${otherwise}.`, remedy: update },
)

/** One way to become a client at least, and one that this client knows. */
export const letsClientsIn: Check = (answer, { client }) => {
  const server = readObject(answer)!
  if (typeof server['registration_endpoint'] === 'string') return undefined
  if (!takesDocuments(server)) {
    return {
      code: 'no_registration',
      text: 'The metadata has neither a registration_endpoint nor client_id_metadata_document_supported: no client can introduce itself.',
      remedy: 'Set CLIENT_REGISTRATION=open for the gateway.',
    }
  }
  if (client.hasDocument) return undefined
  return {
    code: 'registration_closed',
    text: 'The metadata has no registration_endpoint, and the client has no document to be known by.',
    remedy:
      'Set CLIENT_REGISTRATION=open for the gateway; until then these clients take an API key.',
  }
}

/** Whether clients may introduce themselves by the address of a document. */
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

/** An address of which nothing is known is 404: some clients take any 200 for metadata. */
export const isUnknown: Check = ({ status }, { asked }): Fault | undefined => {
  if (status === 404) return undefined
  return {
    code: 'unknown_answered',
    text: `${asked}, which nobody has, is answered ${status} and not 404; Claude Code takes it for metadata.`,
    remedy: `The page of a site or application answers all paths: keep it away from /.well-known/. ${passAllPaths}`,
  }
}
