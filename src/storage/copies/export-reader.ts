import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { systemReason } from '../../core/words/system-reason.ts'
import { assertNotNewer, newer } from '../migrations.ts'
import { StoreError } from '../store-error.ts'
import {
  decodeValue,
  exportedTables,
  exportName,
  exportVersion,
  type ExportEnd,
  type ExportHead,
  type ExportTable,
  type StoredValue,
} from './export-format.ts'

/** A row of a table, by its columns. */
export type ExportedRow = Readonly<Record<string, StoredValue>>

type Listeners = {
  onHead(head: ExportHead): Promise<void>
  /** Rows of one table, in the order of the file. */
  onRows(table: string, rows: readonly ExportedRow[]): Promise<void>
}

const rowsAtOnce = 200
const bytesAtOnce = 4_194_304
/** Many times the longest that is written. */
const lineBytesMax = 16_777_216

/**
 * Reads an export from its beginning to its end; resolves with its rows. What it told before is not to
 * be used when it throws a StoreError: the checksum is in the last line.
 */
export async function readExport(path: string, listeners: Listeners): Promise<number> {
  const reading = createReading(listeners)
  const refuse = (reason: string) =>
    new StoreError(`${path} is no export to be imported: line ${reading.line()}: ${reason}.`)
  try {
    for await (const line of linesOf(path)) await reading.take(line)
    return reading.end()
  } catch (error) {
    if (error instanceof ExportFault) throw refuse(error.message)
    if (error instanceof StoreError) throw error
    throw new StoreError(`${path} cannot be read: ${systemReason(error)}.`)
  }
}

/** What is wrong with a line, without a full stop. */
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
    if (current === undefined) throw new ExportFault('rows come before their table')
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
      throw new ExportFault('its checksum is another one: the file was changed, or damaged')
  }
  return {
    line: () => line,
    take: async (bytes: Buffer) => {
      line++
      if (end !== undefined) throw new ExportFault('it is behind the last line')
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
    end: (): number => {
      if (head === undefined) throw new ExportFault('it is empty')
      if (end === undefined)
        throw new ExportFault('it ends before its last line: the file was cut off')
      const tables = Object.entries(head.rows)
      const wrong = tables.find(([table, count]) => (found.get(table) ?? 0) !== count)
      if (wrong !== undefined || end.rows !== total)
        throw new ExportFault(`it does not have as many rows of ${wrong?.[0] ?? 'all'} as it says`)
      return total
    },
  }
}

function parsed(line: Buffer): object {
  let value: unknown
  try {
    value = JSON.parse(line.toString('utf8'))
  } catch {
    throw new ExportFault('it is no JSON: the file was cut off, changed, or is another one')
  }
  if (typeof value === 'object' && value !== null) return value
  throw new ExportFault('it is neither an object nor a list')
}

function headIn(value: Values): ExportHead {
  const { format, version, schema, rows } = value
  if (format !== exportName || typeof schema !== 'string')
    throw new ExportFault('it is not the first line of an export')
  if (version !== exportVersion) throw newer('The export')
  assertNotNewer([schema], 'The export')
  if (typeof rows !== 'object' || rows === null) throw new ExportFault('it does not count its rows')
  // Its members are read as texts and compared with numbers.
  return value as ExportHead
}

function tableIn(value: Values, found: ReadonlyMap<string, number>): ExportTable {
  const { table, columns } = value
  const name = String(table)
  const plan = Object.hasOwn(exportedTables, name)
    ? exportedTables[name as keyof typeof exportedTables]
    : 'derived'
  if (plan === 'derived') throw new ExportFault(`there is no table '${name.slice(0, 100)}'`)
  if (found.has(name)) throw new ExportFault(`the table ${name} comes twice`)
  if (!Array.isArray(columns) || !columns.every(isColumn))
    throw new ExportFault(`the columns of ${name} are no names`)
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

/** The lines of a file, each with its end. */
async function* linesOf(path: string): AsyncGenerator<Buffer> {
  let rest: Buffer[] = []
  let restBytes = 0
  // Without an encoding the pieces are Buffers.
  for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0
    for (let at = piece.indexOf(0x0a); at !== -1; at = piece.indexOf(0x0a, from)) {
      yield Buffer.concat([...rest, piece.subarray(from, at + 1)])
      rest = []
      restBytes = 0
      from = at + 1
    }
    rest.push(piece.subarray(from))
    restBytes += piece.length - from
    if (restBytes > lineBytesMax) throw new ExportFault('a line is too long: it is another file')
  }
  // The last line has an end too: this one was cut off.
  if (restBytes > 0) yield Buffer.concat(rest)
}
