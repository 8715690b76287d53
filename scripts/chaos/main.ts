/**
 * `npm run chaos`: repeatedly kills a gateway, a worker, Redis or PostgreSQL before, during and after
 * calls to the vendor, and compares the answers to callers with the ledger.
 */
import { parseArgs } from 'node:util'
import { chanceFrom } from '../../test/support/chance.ts'
import { startFleet } from './fleet.ts'
import { phases, runRound, type Phase } from './round.ts'
import { victims } from './victims.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(victims).join(',') },
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
})
const names = values.only.split(',')
const [rounds, seed] = [Number(values.rounds), Number(values.seed)]
if (!names.every((name) => Object.hasOwn(victims, name)) || !(rounds > 0)) {
  console.error(
    `Usage: npm run chaos -- [--only ${Object.keys(victims).join(',')}] [--rounds 20] [--seed <number>]`,
  )
  process.exit(2)
}

type Cell = { rounds: number; statuses: Map<number, number>; faults: string[] }

async function runCells(name: string): Promise<[Phase, Cell][]> {
  const victim = victims[name]!
  const chance = chanceFrom(seed)
  const fleet = await startFleet(victim)
  // The key has a budget, which is never exhausted, so that reservations are tested too.
  const key = await fleet.createKey(['--budget-usd', '1000', '--budget-period', 'total'])
  const charged = new Map<string, number>()
  const cells: [Phase, Cell][] = []
  try {
    for (const phase of phases) {
      const cell: Cell = { rounds: 0, statuses: new Map(), faults: [] }
      cells.push([phase, cell])
      for (let round = 0; round < rounds; round++) {
        const word = `${name} ${phase} ${round}`
        const { answers, faults } = await runRound({
          fleet,
          charged,
          key,
          victim,
          phase,
          chance,
          name: word,
        })
        cell.rounds++
        for (const { status } of answers) {
          cell.statuses.set(status, (cell.statuses.get(status) ?? 0) + 1)
        }
        cell.faults.push(...faults.map((fault) => `${word}: ${fault}`))
      }
    }
  } catch (error) {
    for (const { url, stderr } of fleet.replicas) console.error(`${url}:\n${stderr().slice(-5000)}`)
    throw error
  } finally {
    await fleet.stop()
  }
  return cells
}

console.log(`seed ${seed}`)
console.log('| killed | when | times | answered | refused | cut off | faults |')
console.log('|---|---|---|---|---|---|---|')
let failed = false
for (const name of names) {
  for (const [phase, { rounds: times, statuses, faults }] of await runCells(name)) {
    const answered = statuses.get(200) ?? 0
    const cut = statuses.get(0) ?? 0
    const refused = [...statuses]
      .filter(([status]) => status !== 200 && status !== 0)
      .map(([status, count]) => `${count} x ${status}`)
    const cells = [name, phase, times, answered, refused.join(', ') || 0, cut, faults.length]
    console.log(`| ${cells.join(' | ')} |`)
    for (const fault of faults) console.error(fault)
    failed ||= faults.length > 0
  }
}
process.exitCode = failed ? 1 : 0
