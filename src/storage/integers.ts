import type { KyselyPlugin, UnknownRow } from 'kysely'
import { StoreError } from './store-error.ts'
import { integerColumns } from './tables.ts'

const columns = Object.keys(integerColumns)

/**
 * Gives the integers of rows as numbers: some drivers, such as PostgreSQL's, read 64-bit integers as text
 * (docs/storage.md#portable-types). Throws a StoreError for one that a number cannot hold exactly.
 */
export const integersPlugin: KyselyPlugin = {
  transformQuery: ({ node }) => node,
  transformResult: async ({ result }) => ({ ...result, rows: result.rows.map(withNumbers) }),
}

function withNumbers(row: UnknownRow): UnknownRow {
  const texts = columns.filter((column) => isForeign(row[column]))
  if (texts.length === 0) return row
  const numbers = texts.map((column) => [column, readInteger(column, row[column])] as const)
  return { ...row, ...Object.fromEntries(numbers) }
}

function isForeign(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'bigint'
}

function readInteger(column: string, value: unknown): number {
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw new StoreError(`The column ${column} holds ${String(value)}, which is not a safe integer.`)
}
