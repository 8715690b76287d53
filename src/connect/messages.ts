/** What clients send to the tool server, as they send it. */
import type { Ask } from './ask.ts'
import type { Target } from './target.ts'

const clientInfo = { name: 'connection-check', version: '1' }

/** The revisions that clients open with today. */
const older = '2025-11-25'
const newest = '2026-07-28'

const posted = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

type Message = { method: string; params?: object; id?: number }

/** A message of the protocol, posted with the headers of its era. */
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

/** How a client of the era with a handshake begins. */
export const initialize: Message = {
  method: 'initialize',
  params: { protocolVersion: older, capabilities: {}, clientInfo },
}

/** What each request of the era without one carries. */
const newestMeta = {
  'io.modelcontextprotocol/protocolVersion': newest,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': clientInfo,
}

/** How a client of the newest revision begins. */
export const discover: Message = { method: 'server/discover', params: { _meta: newestMeta } }

export const listTools: Message = { method: 'tools/list', params: {} }
export const listToolsNewest: Message = { method: 'tools/list', params: { _meta: newestMeta } }

export const headersOf = {
  older: { 'mcp-protocol-version': older },
  newest: { 'mcp-protocol-version': newest, 'mcp-method': 'server/discover' },
} as const

/** A stream of events that the client holds open. */
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
