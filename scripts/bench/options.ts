import { parseArgs } from 'node:util'
import type { Candidate } from './candidates.ts'
import { imagesGroup, workloads, type Workload } from './workloads.ts'

const candidates: Candidate[] = [
  'floor',
  'gateway',
  'direct',
  'koa',
  'http',
  'openai',
  'quiet',
  'limited',
  'token',
  'shared',
  'far',
  'workers',
  'replicas',
  'bare',
  'booked',
]

const namesOf = (isMeant: (workload: Workload) => unknown): string =>
  workloads
    .filter(isMeant)
    .map(({ name }) => name)
    .join(', ')

const usage = `Usage: npm run bench -- [--seconds 3] [--rounds 3] [--only <names>] [--base <folder>]
       npm run bench -- --gate
Names, with commas between them: workloads (${namesOf(() => true)})
and processes (${candidates.join(', ')}). Without a process, all run.
Without a workload, all run but ${namesOf(({ group }) => group)}, which make the
run minutes longer: '${imagesGroup}' selects them.
With --base, the gateway of that checkout (with its node_modules) is measured in turn with this one.
With --gate, the workloads of the table in docs/performance.md are measured in short rounds; the command
fails when the best of five tries is above 1.4 times the table.`

export type Options = {
  seconds: number
  rounds: number
  workloads: Workload[]
  candidates: Candidate[]
  /** The folder of the checkout that \`base\` starts. */
  base: string | undefined
  gate: boolean
}

export const readOptions = (): Options => {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string', default: '' },
      base: { type: 'string' },
      gate: { type: 'boolean', default: false },
    },
  })
  const seconds = Number(values.seconds)
  const rounds = Number(values.rounds)
  const only = values.only.split(',').filter((name) => name !== '')
  const known = new Set<string>([...candidates, ...workloads.map(({ name }) => name), imagesGroup])
  if (!(seconds > 0) || !(rounds >= 1) || only.some((name) => !known.has(name))) {
    console.error(usage)
    process.exit(2)
  }
  const isNamed = (name: string | undefined): boolean => only.some((one) => one === name)
  const named = workloads.filter(({ name, group }) => isNamed(name) || isNamed(group))
  const namedCandidates = candidates.filter(isNamed)
  const chosen = named.length ? named : workloads.filter(({ group }) => !group)
  const { base, gate } = values
  return {
    seconds,
    rounds,
    workloads: base === undefined ? chosen : chosen.map(withBase),
    candidates: [...(namedCandidates.length ? namedCandidates : candidates), 'base'],
    base,
    gate,
  }
}

function withBase(workload: Workload): Workload {
  const { candidates: own } = workload
  return own.includes('gateway') ? { ...workload, candidates: [...own, 'base'] } : workload
}
