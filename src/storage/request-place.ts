import { sql } from 'kysely'
import type { SqlDialect } from './sql-dialect.ts'

/** Hexadecimal digits of an id's time that tell which times belong together: the first 9 of 12. */
const digits = 9
const spanMs = 16 ** (12 - digits)
/** Where they begin in an id, behind `req_`; SQL counts from one. */
const start = 4

/**
 * Whether a row of the ledger is not where its id says. An id begins with the time at which its
 * request arrived, and nearly every call begins in the same 4096 ms. Only the others are in an index of
 * ids, so that hardly any commit changes a page of it.
 */
export function outOfPlace(dialect: SqlDialect) {
  const time = dialect === 'sqlite' ? `printf('%012x', at)` : `lpad(to_hex(at), 12, '0')`
  const ofId = `substr(id, ${start + 1}, ${digits})`
  return sql.raw<boolean>(`${ofId} <> substr(${time}, 1, ${digits})`)
}

/** The times at which a call with this id began, unless it is out of place; undefined for a strange id. */
export function placeOfRequest(id: string): { from: number; to: number } | undefined {
  const time = id.slice(start, start + digits)
  if (!/^[0-9a-f]+$/.test(time) || time.length < digits) return undefined
  const from = Number.parseInt(time, 16) * spanMs
  return { from, to: from + spanMs - 1 }
}
