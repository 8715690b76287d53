import {
  banner,
  parametersOf,
  resolved,
  responsesOf,
  type Document,
  type Operation,
  type OperationRow,
  type Security,
} from './document.ts'
import { partNames } from './parts.ts'

/** The content of `operations.ts`: operations, security schemes, methods and headers. */
export function operationsFile(document: Document, rows: OperationRow[]): string {
  const { title, version } = document.info
  const schemes = Object.keys(document.components.securitySchemes)
  const list = rows.map(({ id, method, path, operation }) => ({
    id,
    method,
    path,
    queryNames: parametersOf(document, operation, 'query').map(({ name }) => name),
    queryLists: parametersOf(document, operation, 'query')
      .filter(({ schema }) => resolved(document, schema)['type'] === 'array')
      .map(({ name }) => name),
    headerNames: parametersOf(document, operation, 'header').map(({ name }) => name),
    bodyTypes: Object.keys(operation.requestBody?.content ?? {}),
    protocol: operation['x-protocol'] ?? 'rest',
    errorForm: operation['x-error-form'] ?? operation['x-protocol'] ?? 'rest',
    access: accessOf(operation, document),
    streams: mayStream(document, operation),
    forOperators: operation['x-operators-only'] === true,
    alsoAt: operation['x-also-at'] ?? [],
  }))
  return `${banner}
/** Title and version of the contract. */
export const contractInfo = ${JSON.stringify({ title, version })} as const
/** The parts of the contract that are served alone. */
export const contractParts = ${JSON.stringify(partNames)} as const

/** The operations of openapi.yaml, in its order. */
export const operations = ${JSON.stringify(list, null, 2)} as const

export type OperationId = (typeof operations)[number]['id']
/** The protocol of an operation; handlers of all but \`rest\` parse bodies and format errors themselves. */
export type Protocol = (typeof operations)[number]['protocol']
/** The form of errors: that of the protocol, or of the API that an operation of \`rest\` copies. */
export type ErrorForm = (typeof operations)[number]['errorForm']
export type RestOperationId = Extract<(typeof operations)[number], { protocol: 'rest' }>['id']
/**
 * Required credentials: \`caller\` any, \`person\` a session, \`anyone\` optional, \`public\` never read, \`client\`
 * those of an OAuth client, which the OAuth server checks.
 */
export type Access = 'caller' | 'person' | 'anyone' | 'public' | 'client'
/** The operations with this access. */
export type OperationIdOf<A extends Access> = Extract<(typeof operations)[number], { access: A }>['id']

/** The scopes of each role of a person in an account. */
export const scopesByRole = ${JSON.stringify(scopesByRole(document), null, 2)} as const

/** The members of each JSON body in the contract. */
export const bodyMembers = ${JSON.stringify(bodyMembers(document, rows), null, 2)} as const

/** The names of the security schemes. */
export const securitySchemes = ${JSON.stringify(schemes)} as const
export type SecurityScheme = (typeof securitySchemes)[number]

/** The methods of the contract, in upper case. */
export const contractMethods = ${JSON.stringify(methodsOf(rows))} as const
/** The headers that requests may carry, in lower case. */
export const requestHeaders = ${JSON.stringify(requestHeaders(document, rows), null, 2)} as const
/** The headers that answers may carry. */
export const responseHeaders = ${JSON.stringify(responseHeaders(document, rows), null, 2)} as const
`
}

/** Whether a body with `stream: true` is answered with a stream of events. */
function mayStream(document: Document, operation: Operation): boolean {
  const schema = operation.requestBody?.content['application/json']?.schema
  const { properties } = schema === undefined ? {} : resolved(document, schema)
  const hasEvents = ({ content = {} }: { content?: object }) => 'text/event-stream' in content
  return 'stream' in Object(properties) && responsesOf(document, operation).some(hasEvents)
}

function accessOf(operation: Operation, document: Document): string {
  const security: Security = operation.security ?? document.security
  if (operation['x-protocol'] === 'oauth' && security.length === 0) return 'client'
  const schemes = security.map((requirement) => Object.keys(requirement))
  if (schemes.length === 0) return 'public'
  if (schemes.some((names) => names.length === 0)) return 'anyone'
  return schemes.every(([name]) => name === 'session') ? 'person' : 'caller'
}

/** The scopes of each role, as the schema of roles lists them. */
export function scopesByRole({ components }: Document): unknown {
  return components.schemas['Role']!['x-scopes']
}

function bodyMembers(document: Document, rows: OperationRow[]): Record<string, string[]> {
  const bodies = rows.flatMap(({ id, operation }) => {
    const schema = operation.requestBody?.content['application/json']?.schema
    return schema === undefined ? [] : [[id, resolved(document, schema)] as const]
  })
  return Object.fromEntries(
    bodies.map(([id, { properties }]) => [id, Object.keys(Object(properties))]),
  )
}

function methodsOf(rows: OperationRow[]): string[] {
  return [...new Set(rows.map(({ method }) => method.toUpperCase()))]
}

function requestHeaders(document: Document, rows: OperationRow[]): string[] {
  const schemes = Object.values(document.components.securitySchemes)
  const credentials = schemes
    // Excludes `cookie`: browsers add cookies themselves, so CORS need not allow the header.
    .filter((scheme) => scheme.in !== 'cookie')
    .map(({ type, name }) => (type === 'apiKey' ? name! : 'authorization'))
  const named = rows.flatMap(({ operation }) =>
    parametersOf(document, operation, 'header').map(({ name }) => name),
  )
  const all = ['content-type', ...credentials, ...named]
  return [...new Set(all.map((name) => name.toLowerCase()))]
}

function responseHeaders(document: Document, rows: OperationRow[]): string[] {
  const named = rows.flatMap(({ operation }) =>
    responsesOf(document, operation).flatMap(({ headers = {} }) => Object.keys(headers)),
  )
  // Excludes `set-cookie`, which browsers never expose to pages.
  return [...new Set(named)].filter((name) => name !== 'set-cookie')
}
