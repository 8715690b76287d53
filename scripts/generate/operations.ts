import {
  banner,
  parametersOf,
  resolved,
  responsesOf,
  type Document,
  type OperationRow,
} from './document.ts'

/** The text of `operations.ts`: operations, security schemes, methods and headers. */
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
  }))
  return `${banner}
/** What the contract is called. */
export const contractInfo = ${JSON.stringify({ title, version })} as const

/** The operations of openapi.yaml, in its order. */
export const operations = ${JSON.stringify(list, null, 2)} as const

export type OperationId = (typeof operations)[number]['id']
/** How an operation is spoken to; all but \`rest\` read their own bodies and word their own errors. */
export type Protocol = (typeof operations)[number]['protocol']
export type RestOperationId = Extract<(typeof operations)[number], { protocol: 'rest' }>['id']

/** The members that the contract lists of each JSON body. */
export const bodyMembers = ${JSON.stringify(bodyMembers(document, rows), null, 2)} as const

/** The ways to say who calls. */
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
  const credentials = schemes.map(({ type, name }) => (type === 'apiKey' ? name! : 'authorization'))
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
  return [...new Set(named)]
}
