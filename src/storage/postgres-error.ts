import { systemReason } from '../core/words/system-reason.ts'
import { StoreError } from './store-error.ts'

/** Where a database is; without the password. */
export type PostgresPlace = { host: string; port: number; database: string; user: string }

type Diagnosis = { reason: string; remedy: string }

/** Whether the error may be temporary, so that a start waits for the database. */
export function isTemporary(error: unknown): boolean {
  const code = codeOf(error)
  // Errors of certificates and addresses are permanent; a host name may resolve later.
  if (isOfServer(error)) return code.startsWith('57P') || code.startsWith('53')
  return passing.has(code) || (code === '' && !noTls.test(messageOf(error)))
}

const noTls = /does not support SSL/
const passing: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
])

/** Whether a transaction conflicted with another one and may be retried. */
export function isConflict(error: unknown): boolean {
  return isOfServer(error) && (conflicts.has(codeOf(error)) || isStalePlan(error))
}

/** Whether a migration changed the result type of a prepared statement. */
export function isStalePlan(error: unknown): boolean {
  return isOfServer(error) && /cached plan must not change/.test(messageOf(error))
}

/** SERIALIZATION_FAILURE and DEADLOCK_DETECTED. */
const conflicts: ReadonlySet<string> = new Set(['40001', '40P01'])

/** Whether the connection is unusable after this error. */
export function endsConnection(error: unknown): boolean {
  if (!isOfServer(error)) return true
  const code = codeOf(error)
  return code.startsWith('08') || code.startsWith('57P')
}

/** Converts an error of the driver. Messages name the database, and never contain the password. */
export function postgresError(error: unknown, place: PostgresPlace): StoreError {
  if (error instanceof StoreError) return error
  const code = codeOf(error)
  const message = messageOf(error)
  const options = {
    cause: error,
    isLate: code === queryCanceled || message === readTimedOut,
    ...diagnose(code, message, place),
  }
  if (!isOfServer(error)) return new StoreError(message, undefined, options)
  if (/^2[23]/.test(code))
    return new StoreError(message, undefined, { cause: error, concerns: 'row' })
  const isStatement = code.startsWith('42') && code !== '42501'
  return new StoreError(message, undefined, {
    ...options,
    ...(isStatement ? { concerns: 'statement' as const } : {}),
  })
}

/** QUERY_CANCELED, for example by `statement_timeout`. */
const queryCanceled = '57014'
/** The message of `pg` after its `query_timeout`. */
const readTimedOut = 'Query read timeout'

/** The error for a database that cannot be opened: reason and remedy. */
export function cannotOpenDatabase(error: unknown, place: PostgresPlace): StoreError {
  const { reason, remedy } = postgresError(error, place).diagnosis
  const { database, host, port } = place
  const text = `The database ${database} on ${host}:${port} cannot be opened: ${reason}. ${remedy}`
  return new StoreError(text, undefined, { cause: error, reason, remedy })
}

/** Errors sent by PostgreSQL have a severity; their code is the SQLSTATE. */
function isOfServer(error: unknown): boolean {
  return typeof (error as { severity?: unknown } | undefined)?.severity === 'string'
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

function messageOf(error: unknown): string {
  // If a host has several addresses and none is reachable, the error has no message of its own.
  if (error instanceof AggregateError && error.message === '') return systemReason(error)
  return error instanceof Error ? error.message : String(error)
}

const settings = 'Correct DATABASE_URL.'

function diagnose(code: string, message: string, place: PostgresPlace): Partial<Diagnosis> {
  const { host, port, database, user } = place
  const found = troublesOf({ host, port, database, user })[code]
  if (found !== undefined) return found
  if (code.startsWith('53')) {
    return {
      reason: `PostgreSQL is out of resources (${message})`,
      remedy: 'Free memory, disk or connections there.',
    }
  }
  if (isOfTls(code, message)) {
    return {
      reason: `its TLS certificate is not trusted (${message})`,
      remedy:
        "Set sslrootcert in DATABASE_URL (or NODE_EXTRA_CA_CERTS) to the path of the CA certificate. If the server's certificate has expired, renew it.",
    }
  }
  if (noTls.test(message)) {
    return {
      reason: 'it does not support TLS',
      remedy: 'Enable TLS on the server, or remove sslmode from DATABASE_URL.',
    }
  }
  if (/timeout|timed out/i.test(message)) {
    return { reason: 'PostgreSQL does not answer in time', remedy: remedyOfServer }
  }
  return { remedy: remedyOfServer }
}

const remedyOfServer = 'Check that PostgreSQL is running, reachable and not overloaded.'

function isOfTls(code: string, message: string): boolean {
  return /CERT|ERR_TLS|ERR_SSL|ERR_OSSL|UNABLE_TO_VERIFY/.test(code) || /certificate/i.test(message)
}

function troublesOf(place: PostgresPlace): Readonly<Record<string, Diagnosis>> {
  const { host, port, database, user } = place
  const unknownHost = { reason: `the host name ${host} cannot be resolved`, remedy: settings }
  const password = {
    reason: `the password for ${user} is wrong, or ${user} may not log in`,
    remedy: settings,
  }
  const readOnly = {
    reason: 'PostgreSQL is read-only',
    remedy: 'Set DATABASE_URL to the primary server.',
  }
  const ending = { reason: 'PostgreSQL is shutting down', remedy: 'Wait until it runs again.' }
  const full = { reason: 'the disk of PostgreSQL is full', remedy: 'Free some space there.' }
  return {
    '28P01': password,
    '28000': password,
    '3D000': {
      reason: `the database ${database} does not exist`,
      remedy: `Create it (createdb ${database}), or correct DATABASE_URL.`,
    },
    '42501': {
      reason: `${user} lacks a permission there`,
      remedy: `Make ${user} the owner of the database.`,
    },
    '25006': readOnly,
    '53100': full,
    '53300': {
      reason: 'PostgreSQL has no connection left',
      remedy: 'Raise its max_connections, or lower limits.database_connections_max.',
    },
    [queryCanceled]: { reason: 'a query took too long', remedy: remedyOfServer },
    '57P01': ending,
    '57P02': ending,
    '57P03': { reason: 'PostgreSQL is starting or stopping', remedy: 'Wait until it runs.' },
    ECONNREFUSED: {
      reason: `nothing listens on ${host}, port ${port}`,
      remedy: 'Start PostgreSQL there, or correct DATABASE_URL.',
    },
    ENOTFOUND: unknownHost,
    EAI_AGAIN: unknownHost,
  }
}
