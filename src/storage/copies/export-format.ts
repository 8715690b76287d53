import { StoreError } from '../store-error.ts'
import { integerColumns, type Tables } from '../tables.ts'

/** The lines of an export (docs/storage.md#the-lines-of-an-export). */
export const exportVersion = 1
export const exportName = 'model-access-gateway'

/** The first line. */
export type ExportHead = {
  format: typeof exportName
  version: number
  /** The newest migration that ran on the store. */
  schema: string
  made_at: string
  /** Rows of each table. */
  rows: Readonly<Record<string, number>>
}
/** The line before the rows of a table, which are lists in the order of its columns. */
export type ExportTable = { table: string; columns: readonly string[] }
/** The last line. */
export type ExportEnd = { rows: number; sha256: string }

/** How a table is read: by its key, and how many rows at once. */
export type ExportPlan<Column extends string = string> = {
  key: readonly Column[]
  rowsPerPage: number
}

const rowsPerPage = 500

/**
 * Every table, in an order in which a row comes after those that it refers to. `derived` is what
 * triggers make of other rows, or nobody needs. Windows of budgets come last: the triggers of what they
 * have counted already find none.
 */
export const exportedTables: {
  [Name in keyof Tables]: ExportPlan<keyof Tables[Name] & string> | 'derived'
} = {
  gateway_secrets: { key: ['id'], rowsPerPage },
  accounts: { key: ['id'], rowsPerPage },
  people: { key: ['id'], rowsPerPage },
  api_keys: { key: ['id'], rowsPerPage },
  members: { key: ['account_id', 'person_id'], rowsPerPage },
  sessions: { key: ['id'], rowsPerPage },
  invitations: { key: ['id'], rowsPerPage },
  setup_links: { key: ['digest'], rowsPerPage },
  password_links: { key: ['digest'], rowsPerPage },
  oauth_clients: { key: ['id'], rowsPerPage },
  oauth_artifacts: { key: ['digest'], rowsPerPage },
  key_clients: { key: ['id'], rowsPerPage },
  refused_attempts: { key: ['id'], rowsPerPage },
  refusals: { key: ['account_id', 'hour_at', 'key_id', 'error_code'], rowsPerPage },
  audit_events: { key: ['id'], rowsPerPage },
  usage: { key: ['account_id', 'at', 'id'], rowsPerPage },
  usage_hours: 'derived',
  idempotent_answers: { key: ['key_digest'], rowsPerPage },
  // A piece has up to 256 KiB.
  idempotent_answer_pieces: { key: ['answer_id', 'position'], rowsPerPage: 16 },
  reservations: { key: ['request_id'], rowsPerPage },
  budget_windows: { key: ['owner_id', 'ends_at', 'starts_at'], rowsPerPage },
  write_checks: 'derived',
}

type BytesColumn = {
  [Name in keyof Tables]: {
    [Column in keyof Tables[Name]]: Uint8Array extends Tables[Name][Column] ? Column : never
  }[keyof Tables[Name]]
}[keyof Tables]

/** The columns that hold bytes; a missing one does not compile. */
const bytesColumns: Record<Extract<BytesColumn, string>, true> = { content: true, secret: true }

/** A value as it is stored. */
export type StoredValue = string | number | null | Uint8Array

/** A value as JSON has it. Bytes are an object, so that they are no text. */
export function encodeValue(value: unknown): unknown {
  return value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value
}

/** The stored value of a column. Throws a StoreError for one that the column does not hold. */
export function decodeValue(column: string, value: unknown): StoredValue {
  if (value === null) return null
  if (Object.hasOwn(integerColumns, column)) {
    if (Number.isSafeInteger(value)) return value as number
    throw new StoreError(`the column ${column} holds whole numbers`)
  }
  if (Object.hasOwn(bytesColumns, column)) {
    const { base64 } = Object(value) as { base64?: unknown }
    if (typeof base64 === 'string') return Buffer.from(base64, 'base64')
    throw new StoreError(`the column ${column} holds bytes`)
  }
  if (typeof value === 'string') return value
  throw new StoreError(`the column ${column} holds texts`)
}
