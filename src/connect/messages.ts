/** The messages that clients send to the tool server. */
import { clientInfo, type Ask } from './ask.ts'
import type { Target } from './target.ts'

/** The protocol revisions of current clients. */
const older = '2025-11-25'
const newest = '2026-07-28'

const posted = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

type Message = { method: string; params?: object; id?: number }

/** A POST request with a JSON-RPC message. */
export function post(
  { endpoint }: Pick<Target, 'endpoint'>,
  message: Message,
  headers: Readonly<Record<string, string>> = {},
): Ask {
  return {
    method: 'POST',
    url: endpoint,
    headers: { ...posted, ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, ...message }),
  }
}

/** The first message of a client with a protocol revision with a handshake. */
export const initialize: Message = {
  method: 'initialize',
  params: { protocolVersion: older, capabilities: {}, clientInfo },
}

/** The `_meta` of each request in a protocol revision without a handshake. */
const newestMeta = {
  'io.modelcontextprotocol/protocolVersion': newest,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': clientInfo,
}

/** The first message of a client with the newest protocol revision. */
export const discover: Message = { method: 'server/discover', params: { _meta: newestMeta } }

export const listTools: Message = { method: 'tools/list', params: {} }
export const listToolsNewest: Message = { method: 'tools/list', params: { _meta: newestMeta } }

export const headersOf = {
  older: { 'mcp-protocol-version': older },
  newest: { 'mcp-protocol-version': newest, 'mcp-method': 'server/discover' },
} as const

/** The GET request that opens an event stream. */
export function openStream(
  { endpoint }: Target,
  headers: Readonly<Record<string, string>> = {},
): Ask {
  return {
    method: 'GET',
    url: endpoint,
    headers: { accept: 'text/event-stream', ...headers },
  }
}
