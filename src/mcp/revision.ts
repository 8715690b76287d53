import type { IncomingHttpHeaders } from 'node:http'
import { schemaChecks } from '../../generated/checks.js'
import type { components } from '../../generated/types.ts'
import { GatewayError } from '../core/error.ts'
import { shortened } from '../core/words/shorten.ts'
import type { Message } from './messages.ts'
import { saidIn } from './said-in.ts'
import { sessionHeader } from './sessions.ts'

type Schemas = components['schemas']

/** The two ways of the protocol: with a handshake, or with the revision in each request. */
export type EraName = 'legacy' | 'modern'

/** The tool server's own protocol version (the product document, Versioning). */
export const protocolVersion: Schemas['LegacyRevision'] = '2024-11-05'
/** The revision of requests that name theirs. */
export const modernRevision: Schemas['ModernRevision'] = '2026-07-28'

export const revisionHeader = 'mcp-protocol-version'
export const revisionMember = 'io.modelcontextprotocol/protocolVersion'

/** The revision that a client asks for if known, else ours (docs/tool-protocol.md#revisions). */
export function negotiate(asked: unknown): string {
  return schemaChecks.LegacyRevision(asked) ? asked : protocolVersion
}

/** The revisions that the header names. */
export function revisionsIn({ [revisionHeader]: header }: IncomingHttpHeaders): string[] {
  return header === undefined ? [] : saidIn(String(header))
}

function isSpoken(name: string): boolean {
  return schemaChecks.LegacyRevision(name) || schemaChecks.ModernRevision(name)
}

/** Throws `invalid_value` for a header that names a revision that there is not, or several. */
export function assertKnownRevision(headers: IncomingHttpHeaders): void {
  const named = revisionsIn(headers)
  if (named.length === 0 || (named.length === 1 && isSpoken(named[0]!))) return
  const text =
    `'${revisionHeader}' must name one revision that is spoken here; it is ` +
    `'${shortened(named.join(', '), 100)}'. ` +
    "Name the one that 'initialize' answered, or leave the header out."
  throw new GatewayError('invalid_value', text, { param: revisionHeader })
}

/**
 * The era of a POST: what the messages say in their `_meta`. Where they say nothing the header
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
