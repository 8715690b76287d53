import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Caller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { headerValues, sessionHeader } from './protocol.ts'

/** The sender of a message: a key, and the session of its connection if it has one. */
export type Client = { keyId: string; sessionId: string | undefined }

/** Bytes of the key that signs ids. */
export const sessionKeyBytes = 32

/** An id consists of random bytes and their signature. */
const randomLength = 16
const proofLength = 16

export type SessionLimits = { toolSessionsRememberedMax: number }

/**
 * The sessions that `initialize` starts. Ids are signed, so that every process of the gateway accepts
 * them without storing them (docs/tool-protocol.md#sessions).
 */
export type Sessions = ReturnType<typeof createSessions>

export function createSessions(key: Buffer, limits: SessionLimits) {
  const max = limits.toolSessionsRememberedMax
  const proved = new LRUCache<string, true>({ max })
  const ended = new LRUCache<string, true>({ max })
  const proofOf = (accountId: string, random: Buffer) =>
    createHmac('sha256', key).update(random).update(accountId).digest().subarray(0, proofLength)
  const isProved = (accountId: string, id: string) => {
    const name = `${accountId} ${id}`
    if (proved.has(name)) return true
    const bytes = Buffer.from(id, 'base64url')
    // Accept only the canonical spelling: the decoder ignores characters that are not base64.
    if (bytes.length !== randomLength + proofLength || bytes.toString('base64url') !== id)
      return false
    const [random, proof] = [bytes.subarray(0, randomLength), bytes.subarray(randomLength)]
    if (!timingSafeEqual(proof, proofOf(accountId, random))) return false
    proved.set(name, true)
    return true
  }
  return {
    begin: (accountId: string) => {
      const random = randomBytes(randomLength)
      return Buffer.concat([random, proofOf(accountId, random)]).toString('base64url')
    },
    /** Throws `not_found` for an id of another account, and for a session that the key has ended. */
    check: (accountId: string, client: Client) => {
      const { sessionId } = client
      if (sessionId === undefined) return
      if (isProved(accountId, sessionId) && !ended.has(nameOf(client))) return
      throw new GatewayError(
        'not_found',
        "Session not found: it has ended, or belongs to another account. Send 'initialize' " +
          `without the header '${sessionHeader}' to start a new session.`,
        { param: sessionHeader },
      )
    },
    end: (client: Client) => void ended.set(nameOf(client), true),
  }
}

/** The sender of a request. */
export function clientOf({ keyId }: Pick<Caller, 'keyId'>, headers: IncomingHttpHeaders): Client {
  const given = headers[sessionHeader]
  // An empty header is treated as missing.
  if (typeof given !== 'string' || given === '') return { keyId, sessionId: undefined }
  const [first = given, ...others] = headerValues(given)
  return { keyId, sessionId: others.length === 0 ? first : given }
}

/** A key for the client in maps. */
export function nameOf({ keyId, sessionId }: Client): string {
  return sessionId === undefined ? keyId : `${keyId} ${sessionId}`
}
