import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { measure, type Bench } from './measure.ts'
import { workloads } from './workloads.ts'

/** The page with the table of ratios. */
const page = join(import.meta.dirname, '../../docs/performance.md')
/** Allowed factor between a measured ratio and the documented one; other load changes ratios less. */
const factorMax = 1.4
const triesMax = 5
/** Rounds are short, because the best of the tries counts. */
const rounds = { rounds: 3, seconds: 1 }

/** Ratios depend on the processor: the table has a column for AMD and one for others. */
const isAmd = cpus().some(({ model }) => model.includes('AMD'))

/** The ratios of docs/performance.md by workload: rows `| name | 1.23 | 1.45 |` of its table of ratios. */
function readRatios(text: string): Map<string, number> {
  const rows = text.matchAll(/^\| `(\w+)` +\| ([\d.]+) +\| ([\d.]+) /gm)
  return new Map([...rows].map(([, name = '', amd, other]) => [name, Number(isAmd ? amd : other)]))
}

/**
 * Measures each workload of the table against the floor, again when it misses, and prints a line for each.
 * Returns whether every one is at most 1.4 times its ratio in the table.
 */
export async function passGate(bench: Omit<Bench, 'rounds' | 'seconds'>): Promise<boolean> {
  const ratios = readRatios(readFileSync(page, 'utf8'))
  if (ratios.size === 0) throw new Error(`${page} has no table of ratios.`)
  let passes = true
  for (const [name, ratio] of ratios) {
    const workload = workloads.find((one) => one.name === name)
    if (workload === undefined) throw new Error(`${page} names no workload '${name}'.`)
    const most = ratio * factorMax
    let best = Infinity
    for (let tried = 0; tried < triesMax && best > most; tried += 1) {
      const [floor, gateway] = await measure({ ...bench, ...rounds }, workload, [
        'floor',
        'gateway',
      ])
      best = Math.min(best, gateway!.cpuUs / floor!.cpuUs)
    }
    const isMet = best <= most
    passes &&= isMet
    const verdict = isMet ? 'ok' : 'TOO DEAR'
    console.log(
      `${name}: ${best.toFixed(2)}x of the floor, at most ${most.toFixed(2)}x: ${verdict}`,
    )
  }
  return passes
}
