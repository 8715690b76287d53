import type { Outcome } from './attack.ts'
import type { Watched } from './watch.ts'

export type Row = { name: string; outcome: Outcome; watched: Watched | undefined }

const columns = 'attack,tried,passed,failed,peak MiB,descriptors,longest pause ms,figures'.split(
  ',',
)

/** A Markdown table that also reads well in a terminal. */
export function table(rows: readonly Row[]): string {
  const lines = [columns, ...rows.map(cellsOf)]
  const widths = columns.map((_, at) => Math.max(...lines.map((cells) => cells[at]!.length)))
  const [head = '', ...body] = lines.map(
    (cells) => `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(' | ')} |`,
  )
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`
  return [head, rule, ...body].join('\n')
}

function cellsOf({ name, outcome: { tried, failures, figures = {} }, watched }: Row): string[] {
  const counts = [tried, Math.max(0, tried - failures.length), failures.length]
  const { peakMiB, descriptorsMax, pauseMsMax } = watched ?? {}
  const seen = [peakMiB, descriptorsMax, pauseMsMax].map((value) => value?.toFixed(0) ?? '')
  const shown = Object.entries(figures).map(([label, value]) => `${label} ${value}`)
  return [name, ...counts.map(String), ...seen, shown.join('; ')]
}
