import { join } from 'node:path'
import { driverCore, measuredCore, printedPort } from './children.ts'
import { openFrame } from './frame.ts'
import { passGate } from './gate.ts'
import { measure, type Bench } from './measure.ts'
import { readOptions } from './options.ts'
import { bookkeepingLine, othersPercent, shown, table, type Result } from './report.ts'

// npm run bench: CPU time of the gateway per request, compared with a minimal proxy in Node.
// A missed target is a result (exit code 0); a wrong answer or a dead process is not (1).

const options = readOptions()
const startedAt = performance.now()

const { folder, children, fail } = openFrame('bench')

const open = async (): Promise<Bench> => {
  const upstream = children.start(join(import.meta.dirname, 'mock-upstream.ts'), {
    core: driverCore,
  })
  const upstreamPort = await printedPort(upstream)
  let counter = 0
  const nextCounter = (): number => (counter += 1)
  return { ...options, children, folder, upstream, upstreamPort, nextCounter }
}

const run = async (): Promise<Result[]> => {
  const bench = await open()
  const results: Result[] = []
  for (const workload of options.workloads) {
    const candidates = workload.candidates.filter((name) => options.candidates.includes(name))
    if (!candidates.length) continue
    console.error(`${workload.name}: ${candidates.join(', ')} ...`)
    results.push({ workload, measured: await measure(bench, workload, candidates) })
  }
  await children.stop(bench.upstream)
  return results
}

if (options.gate) {
  const passes = await open().then(passGate).catch(fail)
  process.exit(passes ? 0 : 1)
}

const results = await run().catch(fail)
const elapsedSeconds = Math.round((performance.now() - startedAt) / 1000)
const [othersOnDriver, othersOnMeasured] = othersPercent(
  results.flatMap(({ measured }) => measured),
)
const pinning = children.pinned
  ? `driver and mock on core ${driverCore}, the measured process on core ${measuredCore}`
  : 'not pinned'

console.log(`
Node ${process.version}, ${pinning}; ${elapsedSeconds} s in all.
Medians of ${options.rounds} rounds of ${options.seconds} s, by turns.
Other processes took ${shown(othersOnDriver, 1)} % of core ${driverCore}, \
${shown(othersOnMeasured, 1)} % of core ${measuredCore}.

${table(results)}
${bookkeepingLine(results)}`)
