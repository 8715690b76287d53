import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { systemReason } from '../../core/words/system-reason.ts'
import { newer, schemaFor } from '../migrations.ts'
import { keyOf, type Table } from '../migrations/columns.ts'
import { StoreError } from '../store-error.ts'
import { bytesColumns, integerColumns, tables } from '../tables.ts'

/** The format version (docs/storage.md#the-lines-of-an-export). */
export const exportVersion = 1
export const exportName = 'model-access-gateway'

/** The first line of an export. */
export type ExportHead = {
  format: typeof exportName
  version: number
  /** The newest migration that ran on the store. */
  schema: string
  made_at: string
  rows: Readonly<Record<string, number>>
}
/** The line before the rows of a table. Each row is a list of values in the order of `columns`. */
export type ExportTable = { table: string; columns: readonly string[] }
/** The last line of an export. */
export type ExportEnd = { rows: number; sha256: string }

/** How a table is read: the columns to sort by, and the number of rows of a page. */
export type ExportPlan = { key: readonly string[]; rowsPerPage: number }

/** Tables that are not exported: triggers fill them, they need no copy, or a row is longer than a line may be. */
const derived: ReadonlySet<string> = new Set([
  'usage_hours',
  'usage_sums',
  'waiting_pictures',
  'write_checks',
  'process_leases',
  'budget_leases',
])

/** Tables with large rows: a piece has up to 256 KiB, a response up to 8 MiB. */
const rowsPerPage: Readonly<Record<string, number>> = {
  idempotent_answer_pieces: 16,
  stored_responses: 2,
}
const rowsPerPageStandard = 500

/** The exported tables, in order. */
export const exportedTables: ReadonlyMap<string, ExportPlan> = new Map(
  Object.entries<Table>(tables)
    .filter(([name]) => !derived.has(name))
    .map(([name, table]) => [
      name,
      { key: keyOf(table), rowsPerPage: rowsPerPage[name] ?? rowsPerPageStandard },
    ]),
)

/** The sums of archived calls in an export, whose rows are not in it; `import` adds the rows to them. */
export const archivedHours = 'usage_hours'

type StoredValue = string | number | null | Uint8Array

/** Converts a value to JSON. Bytes become an object with `base64`, which distinguishes them from texts. */
export function encodeValue(value: unknown): unknown {
  return value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value
}

/** Converts a JSON value to the stored value of a column. Throws a StoreError if the type is wrong. */
export function decodeValue(column: string, value: unknown): StoredValue {
  if (value === null) return null
  if (integerColumns.has(column)) {
    if (Number.isSafeInteger(value)) return value as number
    throw new StoreError(`the column ${column} must hold a whole number`)
  }
  if (bytesColumns.has(column)) {
    const { base64 } = Object(value) as { base64?: unknown }
    if (typeof base64 === 'string') return Buffer.from(base64, 'base64')
    throw new StoreError(`the column ${column} must hold bytes`)
  }
  if (typeof value === 'string') return value
  throw new StoreError(`the column ${column} must hold a text`)
}

/** A row of a table, by its columns. */
export type ExportedRow = Readonly<Record<string, StoredValue>>

type Listeners = {
  onHead(head: ExportHead): Promise<void>
  /** Rows of one table, in the order of the file. */
  onRows(table: string, rows: readonly ExportedRow[]): Promise<void>
}

const rowsAtOnce = 200
const bytesAtOnce = 4_194_304
/** Maximum length of a line: many times the longest line that an export writes. */
const lineBytesMax = 16_777_216

/**
 * Reads a whole export; resolves with its last line. Throws a StoreError, also for a wrong checksum in
 * the last line: the caller must then discard the rows that the listeners received.
 */
export async function readExport(path: string, listeners: Listeners): Promise<ExportEnd> {
  const reading = createReading(listeners)
  const refuse = (reason: string) =>
    new StoreError(`${path} cannot be imported: line ${reading.line()}: ${reason}.`)
  try {
    for await (const line of linesOf(path)) await reading.take(line)
    return reading.end()
  } catch (error) {
    if (error instanceof ExportFault) throw refuse(error.message)
    if (error instanceof StoreError) throw error
    throw new StoreError(`${path} cannot be read: ${systemReason(error)}.`)
  }
}

/** An invalid line; the message has no full stop. */
class ExportFault extends Error {}

type Values = Record<string, unknown>

function createReading({ onHead, onRows }: Listeners) {
  const hash = createHash('sha256')
  const found = new Map<string, number>()
  let line = 0
  let head: ExportHead | undefined
  let current: ExportTable | undefined
  let end: ExportEnd | undefined
  let waiting: ExportedRow[] = []
  let waitingBytes = 0
  let total = 0

  const flush = async () => {
    const rows = waiting
    waiting = []
    waitingBytes = 0
    if (rows.length > 0) await onRows(current!.table, rows)
  }
  const takeRow = async (values: readonly unknown[], bytes: number) => {
    if (current === undefined) throw new ExportFault('a row comes before the name of its table')
    const { table, columns } = current
    if (values.length !== columns.length)
      throw new ExportFault(`it has ${values.length} values for ${columns.length} columns`)
    waiting.push(rowOf(columns, values))
    waitingBytes += bytes
    total++
    found.set(table, (found.get(table) ?? 0) + 1)
    if (waiting.length >= rowsAtOnce || waitingBytes >= bytesAtOnce) await flush()
  }
  const takeHead = async (value: Values) => {
    head = headIn(value)
    await onHead(head)
  }
  const takeEnd = (value: Values) => {
    end = { rows: Number(value['rows']), sha256: String(value['sha256']) }
    if (end.sha256 !== hash.digest('hex'))
      throw new ExportFault('the checksum does not match: the file was changed or damaged')
  }
  return {
    line: () => line,
    take: async (bytes: Buffer) => {
      line++
      if (end !== undefined) throw new ExportFault('it follows the last line')
      const value = parsed(bytes)
      if (head === undefined) await takeHead(value as Values)
      else if (Array.isArray(value)) await takeRow(value, bytes.length)
      else {
        await flush()
        if (Object.hasOwn(value, 'sha256')) takeEnd(value as Values)
        else current = tableIn(value as Values, found)
      }
      if (end === undefined) hash.update(bytes)
    },
    end: (): ExportEnd => {
      if (head === undefined) throw new ExportFault('it is empty')
      if (end === undefined)
        throw new ExportFault('it ends before its last line: the file was cut off')
      const tables = Object.entries(head.rows)
      const wrong = tables.find(([table, count]) => (found.get(table) ?? 0) !== count)
      if (wrong !== undefined || end.rows !== total)
        throw new ExportFault(
          `the number of rows of ${wrong?.[0] ?? 'all tables'} does not match the first line`,
        )
      return end
    },
  }
}

function parsed(line: Buffer): object {
  let value: unknown
  try {
    value = JSON.parse(line.toString('utf8'))
  } catch {
    throw new ExportFault('it is not JSON: the file was cut off or changed, or is not an export')
  }
  if (typeof value === 'object' && value !== null) return value
  throw new ExportFault('it is neither an object nor a list')
}

function headIn(value: Values): ExportHead {
  const { format, version, schema, rows } = value
  if (format !== exportName || typeof schema !== 'string')
    throw new ExportFault('it is not the first line of an export')
  if (version !== exportVersion) throw newer('The export')
  schemaFor(schema)
  if (typeof rows !== 'object' || rows === null) throw new ExportFault('its member rows is missing')
  // The cast is safe: the code that uses the members checks their types.
  return value as ExportHead
}

function tableIn(value: Values, found: ReadonlyMap<string, number>): ExportTable {
  const { table, columns } = value
  const name = String(table)
  if (!exportedTables.has(name) && name !== archivedHours)
    throw new ExportFault(`unknown table '${name.slice(0, 100)}'`)
  if (found.has(name)) throw new ExportFault(`the table ${name} comes twice`)
  if (!Array.isArray(columns) || !columns.every(isColumn))
    throw new ExportFault(`the columns of ${name} are not a list of names`)
  return { table: name, columns }
}

function isColumn(name: unknown): name is string {
  return typeof name === 'string' && /^[a-z_]{1,63}$/.test(name)
}

function rowOf(columns: readonly string[], values: readonly unknown[]): ExportedRow {
  try {
    return Object.fromEntries(
      columns.map((column, at) => [column, decodeValue(column, values[at])]),
    )
  } catch (error) {
    throw new ExportFault((error as Error).message)
  }
}

/** Whether the file of this path, or the temporary file for it, is compressed. */
export const isCompressed = (path: string): boolean => /\.gz(\.part-\d+)?$/.test(path)

/** The lines of a file, each with its newline. */
async function* linesOf(path: string): AsyncGenerator<Buffer> {
  let rest: Buffer[] = []
  let restBytes = 0
  const file = createReadStream(path)
  // Errors of the file end the other stream.
  const content = isCompressed(path) ? pipeline(file, createGunzip(), () => undefined) : file
  // Without an encoding the chunks are Buffers.
  for await (const piece of content as AsyncIterable<Buffer>) {
    let from = 0
    for (let at = piece.indexOf(0x0a); at !== -1; at = piece.indexOf(0x0a, from)) {
      yield Buffer.concat([...rest, piece.subarray(from, at + 1)])
      rest = []
      restBytes = 0
      from = at + 1
    }
    rest.push(piece.subarray(from))
    restBytes += piece.length - from
    if (restBytes > lineBytesMax)
      throw new ExportFault('a line is too long: the file is not an export')
  }
  // A complete export ends with a newline: this line was cut off.
  if (restBytes > 0) yield Buffer.concat(rest)
}
