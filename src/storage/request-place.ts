import type { SqlDialect } from './sql-dialect.ts'

/** Number of leading hexadecimal digits of an id's time that ids of the same 4096 ms share. */
const digits = 9
const spanMs = 16 ** (12 - digits)
/** The position of these digits in an id, after `req_`; SQL counts from one. */
const start = 4

/**
 * SQL for whether a ledger row's time differs from the time in its id. An id begins with the time at which
 * its request arrived, and nearly every call begins in the same 4096 ms. The index of ids contains only the
 * rows of other calls, so that few commits change the index.
 */
export function timeDiffersFromId(dialect: SqlDialect): string {
  const time = dialect === 'sqlite' ? `printf('%012x', at)` : `lpad(to_hex(at), 12, '0')`
  const ofId = `substr(id, ${start + 1}, ${digits})`
  return `${ofId} <> substr(${time}, 1, ${digits})`
}

/** The range of times in which the call of an id began, unless `timeDiffersFromId`; undefined for a malformed id. */
export function placeOfRequest(id: string): { from: number; to: number } | undefined {
  const time = id.slice(start, start + digits)
  if (!/^[0-9a-f]+$/.test(time) || time.length < digits) return undefined
  const from = Number.parseInt(time, 16) * spanMs
  return { from, to: from + spanMs - 1 }
}
