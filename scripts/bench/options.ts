import { parseArgs } from 'node:util'
import { workloads, type Candidate, type Workload } from './workloads.ts'

const candidates: Candidate[] = ['floor', 'gateway', 'tuned', 'direct', 'koa', 'http']

const usage = `Usage: npm run bench -- [--seconds 3] [--rounds 3] [--only <names>]
Names, with commas between them: workloads (${workloads.map(({ name }) => name).join(', ')})
and processes (${candidates.join(', ')}). No workload named means all of them; so for processes.`

export type Options = {
  seconds: number
  rounds: number
  workloads: Workload[]
  candidates: Candidate[]
}

export const readOptions = (): Options => {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string', default: '' },
    },
  })
  const seconds = Number(values.seconds)
  const rounds = Number(values.rounds)
  const only = values.only.split(',').filter((name) => name !== '')
  const known = new Set<string>([...candidates, ...workloads.map(({ name }) => name)])
  if (!(seconds > 0) || !(rounds >= 1) || only.some((name) => !known.has(name))) {
    console.error(usage)
    process.exit(2)
  }
  const named = <T>(all: T[], nameOf: (one: T) => string): T[] => {
    const chosen = all.filter((one) => only.includes(nameOf(one)))
    return chosen.length ? chosen : all
  }
  return {
    seconds,
    rounds,
    workloads: named(workloads, ({ name }) => name),
    candidates: named(candidates, (name) => name),
  }
}
