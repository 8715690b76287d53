import type { KyselyPlugin, UnknownRow } from 'kysely'
import { StoreError } from './store-error.ts'
import { integerColumns } from './tables.ts'

const columns = [...integerColumns]

/**
 * Converts the integers of rows to numbers: some drivers, such as PostgreSQL's, return 64-bit
 * integers as strings (docs/storage.md#portable-types). Throws a StoreError for unsafe integers.
 */
export const integersPlugin: KyselyPlugin = {
  transformQuery: ({ node }) => node,
  transformResult: async ({ result }) => ({ ...result, rows: result.rows.map(withNumbers) }),
}

function withNumbers(row: UnknownRow): UnknownRow {
  const unconverted = columns.filter((column) => isStringOrBigint(row[column]))
  if (unconverted.length === 0) return row
  const numbers = unconverted.map((column) => [column, readInteger(column, row[column])] as const)
  return { ...row, ...Object.fromEntries(numbers) }
}

function isStringOrBigint(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'bigint'
}

function readInteger(column: string, value: unknown): number {
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw new StoreError(`The column ${column} holds ${String(value)}, which is not a safe integer.`)
}
