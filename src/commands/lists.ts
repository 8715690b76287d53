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

/** Formats an ISO time to the minute. */
export function dateText(time: string): string {
  return time.slice(0, 16).replace('T', ' ')
}

/** Replaces control characters and line breaks in a name, for safe printing on a terminal. */
export function shownName(name: string): string {
  return name.replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
}
