import { sql, type RawBuilder, type SelectQueryBuilder } from 'kysely'
import { pageOf, placeIn, type Page, type PageRequest } from '../core/page.ts'
import type { Tables } from '../storage/tables.ts'

type How<Time, Row, Told> = {
  /** The column of the time by which the list is in order, in Unix milliseconds. */
  time: Time
  tell: (row: Row) => Told
}

/** One page of a list of rows in the order of a time, then of their ids. Throws `invalid_value` for its cursor. */
export async function listPage<
  From extends keyof Tables,
  Time extends string,
  Row extends { id: string } & Record<Time, number>,
  Told,
>(
  rows: SelectQueryBuilder<Tables, From, Row>,
  { limit, cursor, order }: PageRequest,
  { time, tell }: How<Time, Row, Told>,
): Promise<Page<Told>> {
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
  return pageOf(found, limit, { placeOf: (row) => [row[time], row.id], tell })
}

/** Whether the column `name` has this text in it; a to z are also A to Z. */
export function isInName(text: string): RawBuilder<boolean> {
  const pattern = `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`
  // The database has the letters a to z in lower case.
  const plain = pattern.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
  return sql<boolean>`lower(name) like ${plain} escape '\\'`
}
