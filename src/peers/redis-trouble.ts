import { systemReason } from '../core/words/system-reason.ts'

/** Reason and remedy of a failure of Redis, without secrets. */
export type RedisTrouble = {
  reason: string
  remedy: string
  /** Whether the address, password or certificate is wrong, so that retries cannot help. */
  isRefusal: boolean
}

/** Redis is unavailable, or does not answer in time. */
export class RedisDown extends Error {
  override name = 'RedisDown'
}

/** Redis rejects the connection. The message contains reason and remedy. */
export class RedisRefusal extends Error {
  override name = 'RedisRefusal'
}

type Words = readonly [reason: string, remedy: string]

/** Refusals by the error code of Redis, the first word of an error (redis.io, commands AUTH and HELLO). */
const refusals: Readonly<Record<string, Words>> = {
  WRONGPASS: ['user or password is wrong', 'Check both in REDIS_URL.'],
  NOAUTH: [
    'it requires a password',
    'Add it to REDIS_URL. For example: redis://user:password@host:6379',
  ],
  NOPERM: ['its user lacks a permission', 'Allow the user of REDIS_URL all commands on its keys.'],
  NOPROTO: ['it is older than version 6', 'Use Redis 6 or later.'],
  DENIED: ['it accepts only local connections (protected mode)', 'Set a password for it.'],
}
const noDatabase: Words = [
  'it has no database with that number',
  'Correct the number at the end of REDIS_URL.',
]

const untrusted: Words = [
  'its certificate does not verify',
  'Use the host name of the certificate in REDIS_URL, and set NODE_EXTRA_CA_CERTS to its CA certificate.',
]
/** Refusals by the code of a TLS error. */
const refusalsOfTls: Readonly<Record<string, Words>> = {
  CERT_HAS_EXPIRED: ['its certificate has expired', 'Renew the certificate.'],
  ERR_SSL_WRONG_VERSION_NUMBER: ['it does not support TLS', 'Use redis:// in REDIS_URL.'],
  ERR_SSL_PACKET_LENGTH_TOO_LONG: ['it does not support TLS', 'Use redis:// in REDIS_URL.'],
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

/** Errors of a reachable Redis that an operator must fix, by their code. */
const operatorErrors: Readonly<Record<string, Words>> = {
  ...refusals,
  OOM: ['its memory is full and it evicts nothing', 'Set its maxmemory-policy to allkeys-lru.'],
  READONLY: ['it is a read-only replica', 'Set REDIS_URL to the primary.'],
  MISCONF: ['it cannot save to disk', 'Check its log, or disable snapshots.'],
  MOVED: ['it is a cluster', 'Set REDIS_URL to a Redis without cluster mode.'],
  CROSSSLOT: ['it is a cluster', 'Set REDIS_URL to a Redis without cluster mode.'],
  CLUSTERDOWN: ['it is a cluster', 'Set REDIS_URL to a Redis without cluster mode.'],
  LOADING: ['it is loading its data', 'Wait until it has started.'],
  BUSY: ['a script blocks it', 'Stop the script with SCRIPT KILL.'],
}

const look =
  'Check that Redis runs, that REDIS_URL is correct, and that both use TLS (rediss://) or neither.'
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'it closed the connection',
  EHOSTUNREACH: 'the host is unreachable',
  ENETUNREACH: 'the host is unreachable',
  EPIPE: 'it closed the connection',
  ETIMEDOUT: 'it does not answer',
}

/** Describes why a connection failed or was lost. */
export function troubleOf(error: unknown): RedisTrouble {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  const words = refusals[firstWord(message)] ?? refusalsOfTls[code] ?? aboutDatabase(message)
  if (words !== undefined) return { reason: words[0], remedy: words[1], isRefusal: true }
  const found = operatorErrors[firstWord(message)]
  if (found !== undefined) return { reason: found[0], remedy: found[1], isRefusal: false }
  return { reason: plainReason(error, code), remedy: look, isRefusal: false }
}

/** Describes an error reply that an operator must fix; undefined for other error replies. */
export function operatorTrouble(error: Error): Omit<RedisTrouble, 'isRefusal'> | undefined {
  const [reason, remedy] = operatorErrors[firstWord(error.message)] ?? []
  return reason === undefined ? undefined : { reason, remedy: remedy! }
}

function firstWord(message: string): string {
  return /^-?([A-Z]+)\b/.exec(message)?.[1] ?? ''
}

/** Redis reports a wrong database number with the generic code ERR. */
function aboutDatabase(message: string): Words | undefined {
  return /\bDB index\b/i.test(message) ? noDatabase : undefined
}

function plainReason(error: unknown, code: string): string {
  if (error instanceof RedisDown) return error.message.replace(/\.$/, '')
  if (reasons[code] !== undefined) return reasons[code]
  // Messages of Redis may quote sent values, so only errors of the system are described.
  if (code !== '') return systemReason(error)
  return 'the connection was lost'
}

/**
 * Settles like `work`, or rejects with a RedisDown after the timeout. An answer that arrived while this
 * process was busy is still read first.
 */
export function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new RedisDown('It does not answer in time.'))
    const timer = setTimeout(() => setImmediate(late), timeoutMs)
    const end = () => clearTimeout(timer)
    work.finally(end).then(resolve, reject)
  })
}
