/**
 * Prints rows under their heads. The first text of a row, and a version, are shown as they are;
 * of the others an empty one is `ok`, null is `-`, and a complaint is `FAILED`. Nothing without rows.
 */
export function printTable(heads: string[], rows: (string | null)[][]): void {
  if (rows.length === 0) return
  const shown = rows.map((row) =>
    row.map((cell, column) => {
      if (column === 0 || heads[column] === 'version') return cell ?? ''
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
