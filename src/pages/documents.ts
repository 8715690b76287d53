import type { Router } from '@koa/router'
import { contractInfo, contractParts } from '../../generated/operations.ts'
import { GatewayError, plainLine } from '../core/error.ts'
import type { ExchangeState } from '../http/exchange.ts'
import type { PublicOrigin } from '../http/public-origin.ts'
import { bindFile, staticFile } from './static-file.ts'

const generated = new URL('../../generated/', import.meta.url)
const [json, yaml] = ['application/json', 'application/yaml']
/** The documents of the contract, of which each part is served too. */
const contractFiles = { 'openapi.json': json, 'openapi.yaml': yaml, 'openapi-3.2.json': json }
const workflowsFile = 'workflows.arazzo.yaml'
/** The schemas of what operators write; editors complete it by them. */
const schemaFiles = ['schemas/gateway.json', 'schemas/catalog-model.json']

/** Links to the contract and its reference (RFC 8631). */
export const serviceLinks =
  `</openapi.json>; rel="service-desc"; type="${json}", ` +
  '</docs>; rel="service-doc"; type="text/html"'
const versionHeader = 'x-contract-version'
const headers = {
  // Pages and tools of any origin may read the documents.
  'access-control-allow-origin': '*',
  'access-control-expose-headers': `etag, link, ${versionHeader}`,
  link: serviceLinks,
  [versionHeader]: contractInfo.version,
}

const catalogPath = '/.well-known/api-catalog'
const catalogHeaders = {
  ...headers,
  'content-type': 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
  // The addresses begin with the origin of the request.
  'cache-control': 'no-cache',
  'x-content-type-options': 'nosniff',
  link: `<${catalogPath}>; rel="api-catalog", ${serviceLinks}`,
}

/** Adds the routes of the contract and its parts, of the other documents and of the catalog that lists them. */
export function bindDocuments(router: Router<ExchangeState>, publicOrigin: PublicOrigin): void {
  for (const [name, type] of Object.entries(contractFiles)) bindContract(router, name, type)
  for (const name of ['mcp-tools.json', ...schemaFiles])
    bindFile(router, `/${name}`, { type: json, content: new URL(name, generated), headers })
  const content = new URL(workflowsFile, generated)
  bindFile(router, `/${workflowsFile}`, { type: yaml, content, headers })
  router.get(catalogPath, ({ req, state }) => {
    const text = JSON.stringify(apiCatalog(publicOrigin(req)))
    state.answer = { status: 200, headers: catalogHeaders, pieces: [text] }
  })
}

const partLengthMax = 50

/** Answers with a document of the contract, or with the part that the query parameter `tag` names. */
function bindContract(router: Router<ExchangeState>, name: string, type: string): void {
  const fileAt = (path: string) => staticFile({ type, content: new URL(path, generated), headers })
  const answerWhole = fileAt(name)
  const answers = new Map<string, ReturnType<typeof fileAt>>(
    contractParts.map((part) => [part, fileAt(`parts/${part}/${name}`)]),
  )
  router.get(`/${name}`, async ({ req, query: { tag }, state }) => {
    const answerTo = tag === undefined ? answerWhole : answers.get(String(tag))
    if (answerTo === undefined) {
      const text = `The contract has no part '${plainLine(String(tag), partLengthMax)}'.`
      const remedy = `Use one of ${contractParts.join(', ')}, or leave 'tag' out.`
      throw new GatewayError('invalid_value', `${text} ${remedy}`, { param: 'tag' })
    }
    state.answer = await answerTo(req)
  })
}

/** The APIs of the gateway with their documents, as a set of links (RFC 9727). */
function apiCatalog(origin: string): object {
  const link = (path: string, type = json) => ({ href: origin + path, type })
  const documented = (path: string, part: string, more: readonly string[] = []) => ({
    anchor: origin + path,
    'service-desc': Object.entries(contractFiles).map(([name, type]) =>
      link(`/${name}?tag=${part}`, type),
    ),
    'service-doc': [link('/docs', 'text/html')],
    'service-meta': [link(`/${workflowsFile}`, yaml), ...more.map((meta) => link(meta))],
    status: [link('/ready')],
  })
  const apis = [
    documented('/v1', 'v1'),
    documented('/mcp', 'mcp', ['/mcp-tools.json', '/.well-known/oauth-protected-resource']),
    documented('/oauth', 'oauth', ['/.well-known/oauth-authorization-server']),
    documented('/api', 'api'),
  ]
  const item = apis.map(({ anchor }) => ({ href: anchor }))
  return { linkset: [{ anchor: origin + catalogPath, item }, ...apis] }
}
