import { systemReason } from '../core/words/system-reason.ts'
import { StoreError } from './store-error.ts'

/** Where a database is, as it may be told: without user and password. */
export type PostgresPlace = { host: string; port: number; database: string; user: string }

type Told = { reason: string; remedy: string }

/** Whether a database that is not there yet may come, so that a start can wait for it. */
export function mayPass(error: unknown): boolean {
  const code = codeOf(error)
  // A certificate or an address does not become right by itself; the name of a host may.
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

/** Whether a transaction met another one and may be tried again. */
export function isConflict(error: unknown): boolean {
  return isOfServer(error) && (conflicts.has(codeOf(error)) || isStalePlan(error))
}

/** Whether a migration of another version has changed what a prepared statement gives. */
export function isStalePlan(error: unknown): boolean {
  return isOfServer(error) && /cached plan must not change/.test(messageOf(error))
}

/** SERIALIZATION_FAILURE and DEADLOCK_DETECTED. */
const conflicts: ReadonlySet<string> = new Set(['40001', '40P01'])

/** Whether a connection is of no more use behind this error. */
export function endsConnection(error: unknown): boolean {
  if (!isOfServer(error)) return true
  const code = codeOf(error)
  return code.startsWith('08') || code.startsWith('57P')
}

/** Converts an error of the driver; the sentences name the place, and no password. */
export function postgresError(error: unknown, place: PostgresPlace): StoreError {
  if (error instanceof StoreError) return error
  const code = codeOf(error)
  const message = messageOf(error)
  const options = {
    cause: error,
    isLate: code === queryCanceled || message === readTimedOut,
    ...toldOf(code, message, place),
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

/** QUERY_CANCELED: by `statement_timeout`. */
const queryCanceled = '57014'
/** What `pg` says behind its `query_timeout`. */
const readTimedOut = 'Query read timeout'

/** Why the database cannot be opened, and what helps. */
export function cannotOpenDatabase(error: unknown, place: PostgresPlace): StoreError {
  const { reason, remedy } = postgresError(error, place).told
  const { database, host, port } = place
  const text = `The database ${database} on ${host}:${port} cannot be opened: ${reason}. ${remedy}`
  return new StoreError(text, undefined, { cause: error, reason, remedy })
}

/** Errors that PostgreSQL itself sends have a severity; their code is its SQLSTATE. */
function isOfServer(error: unknown): boolean {
  return typeof (error as { severity?: unknown } | undefined)?.severity === 'string'
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

function messageOf(error: unknown): string {
  // Of several addresses of a host, none of which can be reached.
  if (error instanceof AggregateError && error.message === '') return systemReason(error)
  return error instanceof Error ? error.message : String(error)
}

const settings = 'Correct DATABASE_URL.'

function toldOf(code: string, message: string, place: PostgresPlace): Partial<Told> {
  const { host, port, database, user } = place
  const found = troublesOf({ host, port, database, user })[code]
  if (found !== undefined) return found
  if (code.startsWith('53')) {
    return { reason: `PostgreSQL has too little left (${message})`, remedy: 'Give it more room.' }
  }
  if (isOfTls(code, message)) {
    return {
      reason: `its TLS certificate is not trusted (${message})`,
      remedy:
        'Name the authority with sslrootcert in DATABASE_URL, or in NODE_EXTRA_CA_CERTS, or have the certificate renewed.',
    }
  }
  if (noTls.test(message)) {
    return { reason: 'it takes no TLS', remedy: 'Turn TLS on there, or leave sslmode out.' }
  }
  if (/timeout|timed out/i.test(message)) {
    return { reason: 'PostgreSQL does not answer in time', remedy: remedyOfServer }
  }
  return { remedy: remedyOfServer }
}

const remedyOfServer = 'Look whether PostgreSQL runs, can be reached and is not overloaded.'

function isOfTls(code: string, message: string): boolean {
  return /CERT|ERR_TLS|ERR_SSL|ERR_OSSL|UNABLE_TO_VERIFY/.test(code) || /certificate/i.test(message)
}

function troublesOf(place: PostgresPlace): Readonly<Record<string, Told>> {
  const { host, port, database, user } = place
  const unknownHost = { reason: `the host ${host} is not known`, remedy: settings }
  const password = {
    reason: `the password for ${user} is wrong, or ${user} may not sign in`,
    remedy: settings,
  }
  const readOnly = {
    reason: 'PostgreSQL may only be read',
    remedy: 'Name the server that can be written to in DATABASE_URL.',
  }
  const ending = { reason: 'PostgreSQL is being stopped', remedy: 'Wait until it runs again.' }
  const full = { reason: 'the disk of PostgreSQL is full', remedy: 'Free some space there.' }
  return {
    '28P01': password,
    '28000': password,
    '3D000': {
      reason: `there is no database ${database}`,
      remedy: `Create it (createdb ${database}), or correct DATABASE_URL.`,
    },
    '42501': {
      reason: `${user} may not do that there`,
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
