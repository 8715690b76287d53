import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Caller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { saidIn } from './said-in.ts'

/** Who sends a message: a key, in the session of its connection if it was given one. */
export type Client = { keyId: string; sessionId: string | undefined }

/**
 * The sessions that `initialize` begins. An id proves itself, so that every process of the gateway
 * knows it and none keeps it (docs/tool-protocol.md#sessions).
 */
export type Sessions = {
  /** The id of a new session of the account. */
  begin(accountId: string): string
  /** Throws `not_found` unless the account was given this id and its key has not ended it. */
  check(accountId: string, client: Client): void
  end(client: Client): void
}

/** The header that names a session, in requests and in the answer to `initialize`. */
export const sessionHeader = 'mcp-session-id'
/** Bytes of the key that proves ids. */
export const sessionKeyBytes = 32

/** The bytes of an id: those that no other has, and those that prove it. */
const randomLength = 16
const proofLength = 16

export type SessionLimits = { toolSessionsRememberedMax: number }

export function createSessions(key: Buffer, limits: SessionLimits): Sessions {
  const max = limits.toolSessionsRememberedMax
  const proved = new LRUCache<string, true>({ max })
  const ended = new LRUCache<string, true>({ max })
  const proofOf = (accountId: string, random: Buffer) =>
    createHmac('sha256', key).update(random).update(accountId).digest().subarray(0, proofLength)
  const isProved = (accountId: string, id: string) => {
    const name = `${accountId} ${id}`
    if (proved.has(name)) return true
    const bytes = Buffer.from(id, 'base64url')
    // What base64 would overlook would be another name of the same session.
    if (bytes.length !== randomLength + proofLength || bytes.toString('base64url') !== id)
      return false
    const [random, proof] = [bytes.subarray(0, randomLength), bytes.subarray(randomLength)]
    if (!timingSafeEqual(proof, proofOf(accountId, random))) return false
    proved.set(name, true)
    return true
  }
  return {
    begin: (accountId) => {
      const random = randomBytes(randomLength)
      return Buffer.concat([random, proofOf(accountId, random)]).toString('base64url')
    },
    check: (accountId, client) => {
      const { sessionId } = client
      if (sessionId === undefined) return
      if (isProved(accountId, sessionId) && !ended.has(nameOf(client))) return
      throw new GatewayError(
        'not_found',
        "Session not found: it has ended, or was not given to this account. Send 'initialize' " +
          `without the header '${sessionHeader}' to begin another.`,
        { param: sessionHeader },
      )
    },
    end: (client) => void ended.set(nameOf(client), true),
  }
}

/** Who sends a request, as it says itself. */
export function clientOf({ keyId }: Pick<Caller, 'keyId'>, headers: IncomingHttpHeaders): Client {
  const given = headers[sessionHeader]
  // An empty header names none.
  if (typeof given !== 'string' || given === '') return { keyId, sessionId: undefined }
  const [first = given, ...others] = saidIn(given)
  return { keyId, sessionId: others.length === 0 ? first : given }
}

/** A name for the client, for maps. */
export function nameOf({ keyId, sessionId }: Client): string {
  return sessionId === undefined ? keyId : `${keyId} ${sessionId}`
}
