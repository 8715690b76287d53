import { chanceFrom } from '../../test/support/chance.ts'
import { readLedger } from '../../test/support/ledger-file.ts'
import { startLoad, type Acknowledged } from '../../test/support/load.ts'
import type { Attack, Context, Outcome } from './attack.ts'

const rounds = { full: 8, quick: 1 }
const callers = 16
const answersMax = 150

/** Kills the gateway under load. The ledger must contain each answer that a client received, once. */
export const kill: Attack = { name: 'kill', startsOwn: true, run }

async function run({ start, seed, dose }: Context): Promise<Outcome> {
  const chance = chanceFrom(seed)
  const acknowledged: Acknowledged[] = []
  const faults: string[] = []
  let [cut, dataDir] = [0, '']
  for (let round = 0; round < rounds[dose]; round++) {
    const target = await start(dataDir === '' ? {} : { dataDir })
    dataDir = target.dataDir
    const answersBefore = 1 + chance.below(answersMax)
    const onAnswer = (count: number) => {
      if (count === answersBefore) target.kill('SIGKILL')
    }
    const load = startLoad({ url: target.url, key: target.testKey, callers, chance, onAnswer })
    await Promise.all([target.ended, load.over])
    acknowledged.push(...load.acknowledged)
    cut += load.cut
    const { integrity } = readLedger(dataDir)
    if (integrity !== 'ok') faults.push(`The store is damaged: ${integrity}.`)
  }
  // Starts the gateway again, which adds journaled rows of the killed process to the ledger.
  await (await start({ dataDir })).stop()
  const { rows } = readLedger(dataDir)
  const times = Map.groupBy(rows, ({ id }) => id)
  const lost = acknowledged.filter(({ requestId }) => !times.has(requestId))
  const doubled = [...times.values()].filter(({ length }) => length > 1)
  if (lost.length > 0) faults.push(`${lost.length} answers have no row.`)
  if (doubled.length > 0) faults.push(`${doubled.length} rows are recorded twice.`)
  return {
    tried: acknowledged.length,
    failures: faults.map((what) => ({ what, request: '' })),
    figures: { kills: rounds[dose], 'cut off': cut, rows: rows.length },
  }
}
