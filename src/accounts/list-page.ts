import { sql, type RawBuilder, type SelectQueryBuilder } from 'kysely'
import { pageOf, placeIn, type Page, type PageRequest } from '../core/page.ts'
import type { Tables } from '../storage/tables.ts'

type How<Time, Row, Item> = {
  /** The column that the list is sorted by: a Unix time in milliseconds. */
  time: Time
  toItem: (row: Row) => Item
}

/** One page of rows sorted by a time, then by id. Throws `invalid_value` for an invalid cursor. */
export async function listPage<
  From extends keyof Tables,
  Time extends string,
  Row extends { id: string } & Record<Time, number>,
  Item,
>(
  rows: SelectQueryBuilder<Tables, From, Row>,
  { limit, cursor, order }: PageRequest,
  { time, toItem }: How<Time, Row, Item>,
): Promise<Page<Item>> {
  let left = rows
  if (cursor !== undefined) {
    const beyond = sql.raw(order === 'asc' ? '>' : '<')
    const place = sql.join(placeIn(cursor, ['number', 'string']))
    left = rows.where(sql<boolean>`(${sql.ref(time)}, id) ${beyond} (${place})`)
  }
  const found = await left
    .orderBy(sql.ref(time), order)
    .orderBy(sql.ref('id'), order)
    .limit(limit + 1)
    .execute()
  return pageOf(found, limit, { placeOf: (row) => [row[time], row.id], toItem })
}

/** The number of rows that a query selects. */
export async function countOf<From extends keyof Tables>(
  rows: SelectQueryBuilder<Tables, From, object>,
): Promise<number> {
  const counted = rows.clearSelect().select((one) => one.fn.countAll<number>().as('count'))
  return (await counted.executeTakeFirstOrThrow()).count
}

/** SQL condition: the column `name` contains this text; the case of a to z is ignored. */
export function isInName(text: string): RawBuilder<boolean> {
  const pattern = `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`
  // SQLite's lower() converts A to Z only, so the pattern must not convert other letters either.
  const plain = pattern.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
  return sql<boolean>`lower(name) like ${plain} escape '\\'`
}
