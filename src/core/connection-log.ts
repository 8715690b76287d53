import type { components } from '../../generated/types.ts'
import type { Caller } from './caller.ts'
import { plainLine, shortened } from './error.ts'

type Schemas = components['schemas']

/** The name and version that a client reports, sanitized (`reportedClient`). */
export type ReportedClient = { name: string; version: string | null }

/** A refused request; texts from the client are sanitized (`withoutSecrets`). */
export type RefusedAttempt = {
  reason: Schemas['AttemptReason']
  message: string
  face: Schemas['AttemptFace']
  header?: Schemas['AttemptHeader'] | undefined
  client?: ReportedClient | undefined
  /** The account and the key; absent when the request was not authenticated. */
  accountId?: string | undefined
  keyId?: string | undefined
  redirectHost?: string | undefined
  address?: string | null
  requestId?: string
}

/** Logs connections and refused requests, without waiting for the store. */
export type ConnectionLog = {
  /** Logs that a client initialized a session with the tool server, called a tool, or both. */
  heard(
    by: Pick<Caller, 'accountId' | 'keyId'>,
    client: ReportedClient,
    what: { begins?: boolean; tool?: string },
  ): void
  refused(attempt: RefusedAttempt): void
}

const nameLengthMax = 60
const userAgentReadMax = 1000
const versionLengthMax = 30
const messageLengthMax = 300

/** A client by the name and version that it reports; undefined without a name. */
export function reportedClient(name: unknown, version: unknown): ReportedClient | undefined {
  if (typeof name !== 'string') return undefined
  const plain = plainLine(withoutSecrets(name), nameLengthMax)
  if (plain === '') return undefined
  const plainVersion =
    typeof version === 'string' ? plainLine(withoutSecrets(version), versionLengthMax) : ''
  return { name: plain, version: plainVersion === '' ? null : plainVersion }
}

/** Names in `User-Agent`, in this order: Edge and Opera also send `Chrome`, and Chrome sends `Safari`. */
const browsers: readonly [name: string, sign: RegExp][] = [
  ['Edge', /\bEdgA?\/([\d.]{1,30})/],
  ['Opera', /\bOPR\/([\d.]{1,30})/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/([\d.]{1,30})/],
  ['Chrome', /\b(?:Headless)?(?:Chrome|Chromium|CriOS)\/([\d.]{1,30})/],
  ['Safari', /\bVersion\/([\d.]{1,30}) (?:Mobile\/\w{1,20} )?Safari\//],
]

/** The program that a `User-Agent` begins with, as `name/version`, or the browser that it names. */
export function clientOfUserAgent(userAgent: string | undefined): ReportedClient | undefined {
  const text = shortened(userAgent ?? '', userAgentReadMax)
  if (text.startsWith('Mozilla/')) {
    for (const [name, sign] of browsers) {
      const version = sign.exec(text)?.[1]
      if (version !== undefined) return reportedClient(name, version)
    }
    return reportedClient('A browser', undefined)
  }
  const [, name, version] = /^([^\s/()]{1,200})(?:\/([^\s/()]{1,200}))?/.exec(text) ?? []
  return reportedClient(name, version)
}

/** Replaces everything that may be a key, a token, or a part of one. */
function withoutSecrets(text: string): string {
  return shortened(text, 10 * messageLengthMax)
    .replaceAll(/\b(?:mag|sk|pk|gsk|xai|key|ghp|AIza)[-_][\w-]{6,}/gi, '…')
    .replaceAll(/[\w+=-]{24,}/g, '…')
}

/** A message without secrets, cut to the stored length. */
export function loggedMessage(message: string): string {
  return plainLine(withoutSecrets(message), messageLengthMax)
}
