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

/** A heading and a line for each row, with aligned columns: the first `textColumns` to the left, others to the right. */
export function tableText(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  textColumns = headings.length,
): string {
  const lines = [headings, ...rows]
  const widths = headings.map((_, at) =>
    lines.reduce((most, line) => Math.max(most, line[at]!.length), 0),
  )
  const aligned = (cell: string, at: number) =>
    at < textColumns ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)
  return lines.map((line) => `${line.map(aligned).join('  ').trimEnd()}\n`).join('')
}
