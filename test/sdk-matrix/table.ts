const unchanged = new Set(['version', 'lines', 'any/unknown'])

/**
 * Prints rows below their headings; prints nothing when there are no rows. The first column, versions and
 * figures are printed unchanged. In other columns '' is printed as `ok`, null as `-`, and any other text as `FAILED`.
 */
export function printTable(heads: string[], rows: (string | null)[][]): void {
  if (rows.length === 0) return
  const shown = rows.map((row) =>
    row.map((cell, column) => {
      if (column === 0 || unchanged.has(heads[column]!)) return cell ?? ''
      return cell === null ? '-' : cell === '' ? 'ok' : 'FAILED'
    }),
  )
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...shown.map((row) => row[column]!.length)),
  )
  for (const row of [heads, ...shown]) {
    const line = row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')
    process.stdout.write(`${line.trimEnd()}\n`)
  }
  process.stdout.write('\n')
}
