import pg from 'pg'
import { systemReason } from '../core/words/system-reason.ts'
import type { PostgresPlace } from './postgres-error.ts'
import { StoreError } from './store-error.ts'

/** Parses DATABASE_URL. Throws a StoreError, whose message never contains the password. */
export function placeOf(url: string): PostgresPlace {
  try {
    const client = new pg.Client({ connectionString: verifying(url) })
    const { host, port, database = '', user = '' } = client
    return { host, port, database, user }
  } catch (error) {
    throw new StoreError(isOfFile(error) ? unreadable(url, error) : noAddress)
  }
}

/**
 * Writes `verify-full` for the sslmodes that `pg` treats like it: `pg` warns about these modes, since its
 * next major version will verify less for them.
 */
export function verifying(url: string): string {
  if (/[?&]uselibpqcompat=true\b/.test(url)) return url
  return url.replaceAll(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=[&#]|$)/g, '$1verify-full')
}

const noAddress =
  'DATABASE_URL must be an address such as postgres://user:password@host:5432/database. Percent-encode special characters of the password: @ as %40.'

/** Errors of the operating system name the system call that failed. */
function isOfFile(error: unknown): boolean {
  return typeof (error as { syscall?: unknown }).syscall === 'string'
}

const fileParameters: ReadonlySet<string> = new Set(['sslcert', 'sslkey', 'sslrootcert'])

function unreadable(url: string, error: unknown): string {
  const parameters = [...new URL(url).searchParams].filter(([name]) => fileParameters.has(name))
  // A folder can be opened, and the error of reading it has no path.
  const { path } = error as { path?: string }
  const files = parameters.filter(([, file]) => path === undefined || file === path)
  const named = files.map(([name, file]) => `${file} (${name})`).join(' or ')
  return `DATABASE_URL: the file ${named} cannot be read: ${systemReason(error)}. Correct its path, or let the gateway's user read it.`
}
