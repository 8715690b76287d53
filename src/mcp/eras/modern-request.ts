import type { IncomingHttpHeaders } from 'node:http'
import { schemaChecks } from '../../../generated/checks.js'
import { shortened } from '../../core/words/shorten.ts'
import { complaintOf } from '../../http/check-error.ts'
import { JsonRpcError, rpcCodes } from '../json-rpc.ts'
import type { Message, RequestMessage } from '../messages.ts'
import {
  claimOf,
  modernRevision,
  revisionHeader,
  revisionMember,
  revisionsIn,
} from '../revision.ts'
import type { Post } from './era.ts'

const methodHeader = 'mcp-method'
const nameHeader = 'mcp-name'
const shownLengthMax = 200

/** Throws a JsonRpcError for what is wrong with a POST of revision 2026-07-28, or its headers. */
export function assertModern({ isBatch, messages }: Post, headers: IncomingHttpHeaders): void {
  if (isBatch) {
    const text = `Revision ${modernRevision} has no batches. Send each message by itself.`
    throw new JsonRpcError(rpcCodes.invalidRequest, text)
  }
  const [message] = messages
  if (message?.kind !== 'request' && message?.kind !== 'notification') return
  assertSpoken(message, headers)
  if (message.kind === 'request') assertWholeMeta(message)
  assertHeaders(message, headers)
}

type Named = Extract<Message, { method: string }>

/** The header may be behind: clients send that of the handshake they once made. */
function assertSpoken(message: Named, headers: IncomingHttpHeaders): void {
  const claim = claimOf(message)
  if (typeof claim !== 'string') return
  const other = revisionsIn(headers).find((name) => name !== claim && !isBehind(name, claim))
  if (other !== undefined)
    throw mismatch(revisionHeader, other, claim, `_meta['${revisionMember}']`)
  if (schemaChecks.ModernRevision(claim)) return
  const requested = shortened(claim, shownLengthMax)
  throw new JsonRpcError(
    rpcCodes.unsupportedRevision,
    `Requests of revision '${requested}' are not taken here; those of ${modernRevision} are. ` +
      "Older revisions begin with 'initialize'.",
    { supported: [modernRevision], requested },
  )
}

function isBehind(named: string, claim: string): boolean {
  return schemaChecks.LegacyRevision(named) && !schemaChecks.LegacyRevision(claim)
}

function assertWholeMeta({ params }: RequestMessage): void {
  const { _meta: meta = {} } = params
  if (schemaChecks.ModernMeta(meta)) return
  const { message } = complaintOf(schemaChecks.ModernMeta, { prefix: '_meta' })
  const text = `A request of revision ${modernRevision} describes itself in '_meta'. ${message}`
  throw new JsonRpcError(rpcCodes.invalidParams, text)
}

/**
 * Headers that are there must say what the message says. They may be missing from a notification,
 * and from clients whose version header is behind, since older revisions have no others.
 */
function assertHeaders(message: Named, headers: IncomingHttpHeaders): void {
  const { kind, method, params } = message
  const named = revisionsIn(headers)
  const isComplete = kind === 'request' && named.every((name) => schemaChecks.ModernRevision(name))
  if (isComplete && named.length === 0) throw missing(revisionHeader, modernRevision)
  const sent = { [methodHeader]: method, ...nameIn(method, params['name']) }
  for (const [header, meant] of Object.entries(sent)) {
    const value = valueOf(headers, header)
    if (value === undefined && isComplete) throw missing(header, meant)
    if (value !== undefined && decoded(value) !== meant) throw mismatch(header, value, meant)
  }
}

function nameIn(method: string, name: unknown): Record<string, string> {
  return method === 'tools/call' && typeof name === 'string' ? { [nameHeader]: name } : {}
}

function valueOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return value === undefined ? undefined : String(value).trim()
}

/** The value of a header that may be written as base64 of UTF-8; undefined if it is written badly. */
function decoded(value: string): string | undefined {
  const [, base64] = /^=\?base64\?(.*)\?=$/.exec(value) ?? []
  if (base64 === undefined) return value
  const bytes = Buffer.from(base64, 'base64')
  return bytes.toString('base64') === base64 ? bytes.toString() : undefined
}

function missing(header: string, meant: string): JsonRpcError {
  const text = `The header '${header}' is required: send it with '${shortened(meant, shownLengthMax)}'.`
  return new JsonRpcError(rpcCodes.headerMismatch, text)
}

function mismatch(header: string, value: string, meant: string, place = 'message'): JsonRpcError {
  const [sent, right] = [value, meant].map((one) => shortened(one, shownLengthMax))
  const text = `The header '${header}' says '${sent}', and the ${place} '${right}'. Send the same in both.`
  return new JsonRpcError(rpcCodes.headerMismatch, text)
}
