import { modernHeaders, modernMeta, modernRequest } from './modern-mcp.ts'

const modern = '2026-07-28'
/** MCP revisions that begin with `initialize`. */
export const olderRevisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
export const revisionMember = 'io.modelcontextprotocol/protocolVersion'
const capabilities = 'io.modelcontextprotocol/clientCapabilities'
export const versionHeader = 'mcp-protocol-version'

/** Expected result: the request is accepted as legacy or modern, or refused. */
type Outcome = { era: 'legacy' | 'modern' } | { status: number; code: number; says: RegExp }
export type EraRow = {
  name: string
  body: object
  headers?: Record<string, string>
  outcome: Outcome
}

const legacyEra: Outcome = { era: 'legacy' }
const modernEra: Outcome = { era: 'modern' }
const refused = (code: number, says: RegExp, status = 400): Outcome => ({ status, code, says })

/** A request that does not name its revision. */
export const plain = (method: string, params?: object) => ({
  jsonrpc: '2.0',
  id: 7,
  method,
  params,
})
/** A request with this `_meta`. */
export const saying = (meta: object, method = 'tools/list') => plain(method, { _meta: meta })

/** Requests that must be accepted, as real clients send them. */
export const tolerated: EraRow[] = [
  { name: 'a request without a revision', body: plain('tools/list'), outcome: legacyEra },
  ...olderRevisions.map((version): EraRow => ({
    name: `the header ${version}`,
    body: plain('tools/list'),
    headers: { [versionHeader]: version },
    outcome: legacyEra,
  })),
  {
    name: 'a doubled header of an older revision',
    body: plain('tools/list'),
    headers: { [versionHeader]: '2025-11-25, 2025-11-25' },
    outcome: legacyEra,
  },
  {
    name: 'a header that names its revision, and one with an older revision',
    body: modernRequest('tools/list'),
    headers: { ...modernHeaders('tools/list'), [versionHeader]: '2026-07-28,2025-11-25' },
    outcome: modernEra,
  },
  {
    name: 'a body that names an older revision',
    body: saying({ [revisionMember]: '2025-11-25', [capabilities]: {} }),
    headers: { [versionHeader]: '2025-11-25' },
    outcome: legacyEra,
  },
  {
    name: 'a revision that is null, which is absent',
    body: saying({ [revisionMember]: null, [capabilities]: null }),
    outcome: legacyEra,
  },
  { name: '_meta that is null', body: plain('tools/list', { _meta: null }), outcome: legacyEra },
  {
    name: 'a handshake under the newest header',
    body: plain('initialize', { protocolVersion: '2025-11-25' }),
    headers: { [versionHeader]: modern },
    outcome: legacyEra,
  },
  { name: 'a whole request', body: modernRequest('tools/list'), outcome: modernEra },
  {
    name: 'a header with an older revision than the body',
    body: modernRequest('tools/list'),
    headers: { [versionHeader]: '2025-11-25' },
    outcome: modernEra,
  },
  {
    name: 'a doubled header with an older revision',
    body: modernRequest('tools/list'),
    headers: { [versionHeader]: '2025-11-25, 2025-11-25' },
    outcome: modernEra,
  },
  {
    name: 'a doubled header',
    body: modernRequest('tools/list'),
    headers: { ...modernHeaders('tools/list'), [versionHeader]: '2026-07-28, 2026-07-28' },
    outcome: modernEra,
  },
  {
    name: 'a request without clientInfo',
    body: saying({ [revisionMember]: modern, [capabilities]: {} }),
    headers: modernHeaders('tools/list'),
    outcome: modernEra,
  },
  {
    name: 'members of _meta that are null, and a cursor',
    body: plain('tools/list', {
      cursor: null,
      _meta: {
        ...modernMeta,
        progressToken: null,
        'io.modelcontextprotocol/clientInfo': null,
        'io.modelcontextprotocol/logLevel': null,
      },
    }),
    headers: modernHeaders('tools/list'),
    outcome: modernEra,
  },
  {
    name: 'spaces around the name of a tool',
    body: modernRequest('tools/call', { name: 'list-models', arguments: null }),
    headers: { ...modernHeaders('tools/call'), 'mcp-name': '  list-models  ' },
    outcome: modernEra,
  },
  {
    name: 'the name of a tool in base64',
    body: modernRequest('tools/call', { name: 'list-models' }),
    headers: { ...modernHeaders('tools/call'), 'mcp-name': '=?base64?bGlzdC1tb2RlbHM=?=' },
    outcome: modernEra,
  },
]

/** Requests that must be refused. */
export const contradictions: EraRow[] = [
  {
    name: 'a header of another revision that there is not',
    body: plain('tools/list'),
    headers: { [versionHeader]: '1999-01-01' },
    outcome: refused(-32600, /1999-01-01/),
  },
  {
    name: 'a header with two supported revisions',
    body: plain('tools/list'),
    headers: { [versionHeader]: '2025-11-25, 2025-06-18' },
    outcome: refused(-32600, /one revision/),
  },
  {
    name: 'the newest header without a word in the body',
    body: plain('tools/list'),
    headers: { [versionHeader]: modern },
    outcome: refused(-32602, /_meta\.io\.modelcontextprotocol\/protocolVersion/),
  },
  {
    name: 'a body that says the revision alone',
    body: saying({ [revisionMember]: modern }),
    headers: modernHeaders('tools/list'),
    outcome: refused(-32602, /clientCapabilities/),
  },
  {
    name: 'a revision that is a number',
    body: saying({ [revisionMember]: 7, [capabilities]: {} }),
    outcome: refused(-32602, /protocolVersion/),
  },
  {
    name: 'a client without a version',
    body: saying({ ...modernMeta, 'io.modelcontextprotocol/clientInfo': { name: 'x' } }),
    headers: modernHeaders('tools/list'),
    outcome: refused(-32602, /clientInfo\.version/),
  },
  {
    name: 'a log level that there is not',
    body: saying({ ...modernMeta, 'io.modelcontextprotocol/logLevel': 'loud' }),
    headers: modernHeaders('tools/list'),
    outcome: refused(-32602, /logLevel/),
  },
  {
    name: 'no header',
    body: modernRequest('tools/list'),
    headers: { 'mcp-method': 'tools/list' },
    outcome: refused(-32020, /mcp-protocol-version.*required/),
  },
  {
    name: 'a header with an unknown revision and a body with a supported one',
    body: modernRequest('tools/list'),
    headers: { ...modernHeaders('tools/list'), [versionHeader]: '2027-01-01' },
    outcome: refused(-32020, /2027-01-01.*2026-07-28/),
  },
  {
    name: 'a body with an unknown revision and a header with a supported one',
    body: saying({ ...modernMeta, [revisionMember]: '2027-01-01' }),
    headers: modernHeaders('tools/list'),
    outcome: refused(-32020, /2026-07-28.*2027-01-01/),
  },
  {
    name: 'the newest header over an older body',
    body: saying({ [revisionMember]: '2025-11-25', [capabilities]: {} }),
    headers: modernHeaders('tools/list'),
    outcome: refused(-32020, /2026-07-28.*2025-11-25/),
  },
  {
    name: 'no method in the headers',
    body: modernRequest('tools/list'),
    headers: { [versionHeader]: modern },
    outcome: refused(-32020, /mcp-method.*required/),
  },
  {
    name: 'another method in the headers',
    body: modernRequest('tools/list'),
    headers: modernHeaders('prompts/list'),
    outcome: refused(-32020, /prompts\/list.*tools\/list/),
  },
  {
    name: 'another method in the header, with an older revision',
    body: modernRequest('tools/list'),
    headers: { [versionHeader]: '2025-11-25', 'mcp-method': 'tools/call' },
    outcome: refused(-32020, /mcp-method/),
  },
  {
    name: 'a method in capitals',
    body: modernRequest('tools/list'),
    headers: modernHeaders('TOOLS/LIST'),
    outcome: refused(-32020, /TOOLS/),
  },
  {
    name: 'no name of a tool in the headers',
    body: modernRequest('tools/call', { name: 'list-models' }),
    headers: modernHeaders('tools/call'),
    outcome: refused(-32020, /mcp-name.*list-models/),
  },
  {
    name: 'another name in the headers',
    body: modernRequest('tools/call', { name: 'list-models' }),
    headers: { ...modernHeaders('tools/call'), 'mcp-name': 'chat' },
    outcome: refused(-32020, /mcp-name/),
  },
  {
    name: 'a name that is no base64',
    body: modernRequest('tools/call', { name: 'list-models' }),
    headers: { ...modernHeaders('tools/call'), 'mcp-name': '=?base64?bGlzdC1tb2RlbHM?=' },
    outcome: refused(-32020, /mcp-name/),
  },
  {
    name: 'a batch',
    body: [modernRequest('tools/list')],
    headers: modernHeaders('tools/list'),
    outcome: refused(-32600, /no batches/),
  },
  ...['ping', 'initialize', 'logging/setLevel', 'resources/read', 'unknown/method'].map(
    (method): EraRow => ({
      name: `the method ${method}`,
      body: modernRequest(method),
      headers: modernHeaders(method),
      outcome: refused(-32601, new RegExp(method), 404),
    }),
  ),
  {
    name: 'a cursor',
    body: modernRequest('tools/list', { cursor: 'x' }),
    headers: modernHeaders('tools/list'),
    outcome: refused(-32602, /cursor/, 200),
  },
  {
    name: 'an unknown tool',
    body: modernRequest('tools/call', { name: 'paint' }),
    headers: { ...modernHeaders('tools/call'), 'mcp-name': 'paint' },
    outcome: refused(-32602, /paint/, 200),
  },
]
