import type { components } from '../../generated/types.ts'
import type { Caller } from './caller.ts'
import { plainLine, shortened } from './words/shorten.ts'

type Schemas = components['schemas']

/** What a program says of itself, cleaned (`heardClient`). */
export type HeardClient = { name: string; version: string | null }

/** What somebody tried, and why they were refused; texts of theirs are cleaned (`withoutSecrets`). */
export type RefusedAttempt = {
  reason: Schemas['AttemptReason']
  message: string
  face: Schemas['AttemptFace']
  header?: Schemas['AttemptHeader'] | undefined
  client?: HeardClient | undefined
  /** The account whose attempt it was, and the key; neither where nobody knows. */
  accountId?: string | undefined
  keyId?: string | undefined
  redirectHost?: string | undefined
  address?: string | null
  requestId?: string
}

/** Notes what connects and what fails to, without waiting for anything. */
export type ConnectionLog = {
  /** A program used the tool server: it began to talk, or called a tool, or both. */
  heard(
    by: Pick<Caller, 'accountId' | 'keyId'>,
    client: HeardClient,
    what: { begins?: boolean; tool?: string },
  ): void
  refused(attempt: RefusedAttempt): void
}

const nameLengthMax = 60
const versionLengthMax = 30
const messageLengthMax = 300

/** A program by its own words; undefined where they name none. */
export function heardClient(name: unknown, version: unknown): HeardClient | undefined {
  if (typeof name !== 'string') return undefined
  const plain = plainLine(withoutSecrets(name), nameLengthMax)
  if (plain === '') return undefined
  const told =
    typeof version === 'string' ? plainLine(withoutSecrets(version), versionLengthMax) : ''
  return { name: plain, version: told === '' ? null : told }
}

/** The program that a `User-Agent` begins with, as `name/version`. */
export function clientOfUserAgent(userAgent: string | undefined): HeardClient | undefined {
  const [, name, version] = /^([^\s/()]{1,200})(?:\/([^\s/()]{1,200}))?/.exec(userAgent ?? '') ?? []
  return heardClient(name, version)
}

/** A text of which nothing is kept that may be a key, a token, or a part of one. */
function withoutSecrets(text: string): string {
  return shortened(text, 10 * messageLengthMax)
    .replaceAll(/\b(?:mag|sk|pk|gsk|xai|key|ghp|AIza)[-_][\w-]{6,}/gi, '…')
    .replaceAll(/[\w+=-]{24,}/g, '…')
}

/** A message as it may be kept. */
export function keptMessage(message: string): string {
  return plainLine(withoutSecrets(message), messageLengthMax)
}
