import type { Page, PageRequest } from '../core/page.ts'

/** All rows of a list, oldest first, page by page. */
export async function everyPage<Row>(
  list: (page: PageRequest) => Promise<Page<Row>>,
): Promise<Row[]> {
  const rows: Row[] = []
  let cursor: string | undefined
  do {
    const page = await list({ limit: 1000, order: 'asc', cursor })
    rows.push(...page.data)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return rows
}

/** A time to the minute. */
export function dateText(time: string): string {
  return time.slice(0, 16).replace('T', ' ')
}

/** A name that came through the API, as a terminal may print it. */
export function shownName(name: string): string {
  return name.replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
}
