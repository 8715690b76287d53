import type { IncomingHttpHeaders } from 'node:http'
import { schemaChecks } from '../../generated/checks.js'
import { product } from '../core/product.ts'
import type { components } from '../../generated/types.ts'
import { shortened, GatewayError } from '../core/error.ts'
import type { Message } from './json-rpc.ts'

type Schemas = components['schemas']

/** The two forms of the protocol: with a handshake, or with the revision in each request. */
export type EraName = 'legacy' | 'modern'

/** The tool server's own protocol version (the product document, Versioning). */
export const protocolVersion: Schemas['LegacyRevision'] = '2024-11-05'
/** The revision without a handshake: each request names it. */
export const modernRevision: Schemas['ModernRevision'] = '2026-07-28'

export const serverInfo = product
/** Member of `_meta` in each result of revision 2026-07-28. */
export const serverInfoMember = { 'io.modelcontextprotocol/serverInfo': serverInfo }
export const capabilities = { tools: { listChanged: true }, logging: {} }
export const instructions =
  'Language and image models of many providers. list-models and list-image-models list the ' +
  'models with prices; chat, generate-image and generate-image-preview call a model.'

/** The answer to a GET /mcp that does not ask for an event stream. */
export const serverCard = {
  name: product.name,
  version: product.version,
  description: instructions,
  protocolVersion,
  capabilities,
}

/** The header with the session id, in requests and in the answer to `initialize`. */
export const sessionHeader = 'mcp-session-id'
export const revisionHeader = 'mcp-protocol-version'
export const revisionMember = 'io.modelcontextprotocol/protocolVersion'

/** The requested revision if supported, else `protocolVersion` (docs/tool-protocol.md#revisions). */
export function negotiate(revision: unknown): string {
  return schemaChecks.LegacyRevision(revision) ? revision : protocolVersion
}

/** The distinct values of a header: clients and proxies may repeat a header, and Node joins the values. */
export function headerValues(header: string): string[] {
  if (!header.includes(',')) return [header.trim()]
  return [...new Set(header.split(',').map((value) => value.trim()))]
}

/** The revisions that the header names. */
export function revisionsIn({ [revisionHeader]: header }: IncomingHttpHeaders): string[] {
  return header === undefined ? [] : headerValues(String(header))
}

function isSupported(name: string): boolean {
  return schemaChecks.LegacyRevision(name) || schemaChecks.ModernRevision(name)
}

/** Throws `invalid_value` for a header that names an unknown revision, or several. */
export function assertKnownRevision(headers: IncomingHttpHeaders): void {
  const named = revisionsIn(headers)
  if (named.length === 0 || (named.length === 1 && isSupported(named[0]!))) return
  const text =
    `'${revisionHeader}' must name one revision that this server supports; it is ` +
    `'${shortened(named.join(', '), 100)}'. ` +
    "Send the revision in the answer to 'initialize', or omit the header."
  throw new GatewayError('invalid_value', text, { param: revisionHeader })
}

/**
 * The era of a POST, by the revision in `_meta` of its messages. Without such a revision the header
 * decides, except for a handshake or in a session (docs/tool-protocol.md#eras).
 */
export function eraOf(messages: readonly Message[], headers: IncomingHttpHeaders): EraName {
  const isModern = messages.some((message) => {
    if (message.kind !== 'request' && message.kind !== 'notification') return false
    const claim = claimOf(message)
    if (claim === modernRevision) return true
    if (claim !== undefined && !schemaChecks.LegacyRevision(claim)) return true
    return message.method !== 'initialize' && isOfModernHeader(headers)
  })
  return isModern ? 'modern' : 'legacy'
}

function isOfModernHeader(headers: IncomingHttpHeaders): boolean {
  const named = revisionsIn(headers)
  const isNew = named.length > 0 && named.every((name) => name === modernRevision)
  return isNew && headers[sessionHeader] === undefined
}

/** The revision that a message names; undefined if it names none. */
export function claimOf({ params }: Pick<Message & { kind: 'request' }, 'params'>): unknown {
  const { _meta: meta } = params
  if (typeof meta !== 'object' || meta === null) return undefined
  return (meta as Record<string, unknown>)[revisionMember]
}
