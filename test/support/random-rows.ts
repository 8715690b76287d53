import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import fc from 'fast-check'
import { exportedTables } from '../../src/storage/copies/export-format.ts'
import { storePath } from '../../src/storage/store.ts'
import { integerColumns } from '../../src/storage/tables.ts'

/** Rows of the store, by table name. */
export type Rows = Readonly<Record<string, readonly Record<string, SQLInputValue>[]>>

/** Tables that an export contains, in the order of the export; the sums of archived rows cannot be random. */
export const tables = [...exportedTables]
  .filter(([name]) => name !== 'usage_archives')
  .map(([name, { key }]) => ({ name, key }))

/** Ids that rows of other tables refer to. */
const referred: Readonly<Record<string, string>> = { account_id: 'acc_1', person_id: 'usr_1' }
const ownIds: Readonly<Record<string, string>> = { accounts: 'acc_1', people: 'usr_1' }

/** Random rows for every table of the store at `path`. */
export function rowsFor(path: string): fc.Arbitrary<Rows> {
  const database = new DatabaseSync(path, { readOnly: true })
  const arbitraries = tables.map(({ name }) => {
    const columns = database.prepare(`PRAGMA table_info(${name})`).all()
    const row = fc.record(
      Object.fromEntries(
        columns.map(({ name: column, type, notnull }) => {
          const value = valueOf(String(column), String(type))
          return [String(column), notnull === 1 ? value : fc.option(value, { freq: 3 })]
        }),
      ),
    )
    const own = ownIds[name]
    const first = own === undefined ? [] : [row.map((found) => ({ ...found, id: own }))]
    const all = fc.tuple(fc.tuple(...first), fc.array(row, { maxLength: 4 }))
    return [name, all.map(([one, more]) => [...one, ...more])] as const
  })
  database.close()
  return fc.record(Object.fromEntries(arbitraries))
}

function valueOf(column: string, type: string): fc.Arbitrary<SQLInputValue> {
  const refers = referred[column]
  if (refers !== undefined) return fc.constant(refers)
  if (column === 'mode') return fc.constantFrom('live', 'test')
  if (column === 'is_operator') return fc.constantFrom(0, 1)
  if (type.toLowerCase() === 'blob') return fc.uint8Array({ maxLength: 40 })
  if (integerColumns.has(column)) return fc.integer({ min: 0, max: 2 ** 47 })
  // Triggers read the tags of calls.
  if (column === 'tags')
    return fc.array(fc.string({ maxLength: 4 })).map((tags) => JSON.stringify(tags))
  // PostgreSQL cannot store the character U+0000.
  return fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text.replaceAll('\0', ''))
}

/** Inserts rows unchanged, except rows whose key is null or already exists. */
export function insertRows(path: string, rows: Rows): void {
  const database = new DatabaseSync(path)
  database.exec('BEGIN')
  for (const { name, key } of tables) {
    for (const row of rows[name]!) {
      if (key.some((column) => row[column] === null)) continue
      const columns = Object.keys(row)
      const places = columns.map(() => '?').join()
      database
        .prepare(`INSERT OR IGNORE INTO ${name} ("${columns.join('","')}") VALUES (${places})`)
        .run(...Object.values(row))
    }
  }
  database.exec('COMMIT')
  database.close()
}

/** All rows of a store, including hourly sums, sorted by key. */
export function contentOf(dataDir: string): Record<string, unknown[]> {
  const database = new DatabaseSync(storePath(dataDir), { readOnly: true })
  const read = (name: string, order: string) =>
    database.prepare(`SELECT * FROM ${name} ORDER BY ${order}`).all()
  const content = Object.fromEntries(tables.map(({ name, key }) => [name, read(name, key.join())]))
  content['usage_hours'] = read('usage_hours', '1, 2, 3, 4, 5, 6, 7, 8, 9')
  database.close()
  return content
}
