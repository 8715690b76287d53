import { systemReason } from '../core/words/system-reason.ts'

/** Why there is no connection to Redis, in plain words that hold no secret, and what helps. */
export type RedisTrouble = {
  reason: string
  remedy: string
  /** Whether the address, the password or the certificate is wrong, which waiting does not mend. */
  isRefusal: boolean
}

/** Redis is not there, or does not answer in time. */
export class RedisDown extends Error {
  override name = 'RedisDown'
}

/** What REDIS_URL names does not let the gateway in. The message says why and what helps. */
export class RedisRefusal extends Error {
  override name = 'RedisRefusal'
}

type Words = readonly [reason: string, remedy: string]

/** By the first word of an answer of Redis (redis.io, commands AUTH and HELLO). */
const refusals: Readonly<Record<string, Words>> = {
  WRONGPASS: ['user or password is wrong', 'Check both in REDIS_URL.'],
  NOAUTH: [
    'it asks for a password',
    'Put it into REDIS_URL, as in redis://user:password@host:6379.',
  ],
  NOPERM: ['its user may not do this', 'Let the user of REDIS_URL use all commands on its keys.'],
  NOPROTO: ['it is older than version 6', 'Use Redis 6 or later.'],
  DENIED: ['it takes connections of its own machine only', 'Set a password for it.'],
}
const noDatabase: Words = [
  'it has no database of that number',
  'Correct the number at the end of REDIS_URL.',
]

const untrusted: Words = [
  'its certificate does not verify',
  'Name the host as its certificate does, and its authority in NODE_EXTRA_CA_CERTS.',
]
/** By the code of an error of TLS. */
const refusalsOfTls: Readonly<Record<string, Words>> = {
  CERT_HAS_EXPIRED: ['its certificate has expired', 'Renew it.'],
  ERR_SSL_WRONG_VERSION_NUMBER: ['it does not speak TLS', 'Write redis:// in REDIS_URL.'],
  ERR_SSL_PACKET_LENGTH_TOO_LONG: ['it does not speak TLS', 'Write redis:// in REDIS_URL.'],
  ...Object.fromEntries(
    [
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_GET_ISSUER_CERT',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ].map((code) => [code, untrusted]),
  ),
}

/** What keeps Redis from doing what it is asked, though it answers; by the first word of an answer. */
const limping: Readonly<Record<string, Words>> = {
  ...refusals,
  OOM: ['its memory is full and it evicts nothing', 'Set its maxmemory-policy to allkeys-lru.'],
  READONLY: [
    'it is a copy that may only be read',
    'Let REDIS_URL name the one that is written to.',
  ],
  MISCONF: ['it cannot save to its disk', 'Look at its log, or turn its saving off.'],
  MOVED: ['it is a cluster', 'Let REDIS_URL name a Redis that is none.'],
  CROSSSLOT: ['it is a cluster', 'Let REDIS_URL name a Redis that is none.'],
  CLUSTERDOWN: ['it is a cluster', 'Let REDIS_URL name a Redis that is none.'],
  LOADING: ['it reads its files', 'Wait until it has started.'],
  BUSY: ['it runs a script that does not end', 'End it with SCRIPT KILL.'],
}

const look =
  'Look whether Redis runs, whether REDIS_URL names it, and whether both have TLS (rediss://) or none.'
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'it broke the connection',
  EHOSTUNREACH: 'no way leads there',
  ENETUNREACH: 'no way leads there',
  EPIPE: 'it broke the connection',
  ETIMEDOUT: 'it does not answer',
}

/** Why a connection was not made, or broke. */
export function troubleOf(error: unknown): RedisTrouble {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  const words = refusals[firstWord(message)] ?? refusalsOfTls[code] ?? aboutDatabase(message)
  if (words !== undefined) return { reason: words[0], remedy: words[1], isRefusal: true }
  const told = limping[firstWord(message)]
  if (told !== undefined) return { reason: told[0], remedy: told[1], isRefusal: false }
  return { reason: plainReason(error, code), remedy: look, isRefusal: false }
}

/** Why Redis did not do what it was asked; undefined where it answered as it does to a mistake. */
export function limpOf(error: Error): Omit<RedisTrouble, 'isRefusal'> | undefined {
  const [reason, remedy] = limping[firstWord(error.message)] ?? []
  return reason === undefined ? undefined : { reason, remedy: remedy! }
}

function firstWord(message: string): string {
  return /^-?([A-Z]+)\b/.exec(message)?.[1] ?? ''
}

/** Redis says it with the word ERR alone. */
function aboutDatabase(message: string): Words | undefined {
  return /\bDB index\b/i.test(message) ? noDatabase : undefined
}

function plainReason(error: unknown, code: string): string {
  if (error instanceof RedisDown) return error.message.replace(/\.$/, '')
  if (reasons[code] !== undefined) return reasons[code]
  // Texts of Redis may quote what it was sent; those of the system name an address.
  if (code !== '') return systemReason(error)
  return 'the connection broke'
}

/**
 * What the work gives, or a RedisDown when it takes longer. An answer that has arrived while this
 * process was busy counts: it is read before the time is called up.
 */
export function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new RedisDown('It does not answer in time.'))
    const timer = setTimeout(() => setImmediate(late), timeoutMs)
    const end = () => clearTimeout(timer)
    work.finally(end).then(resolve, reject)
  })
}
