import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { projectFolder } from '../../test/support/folder.ts'
import type { Attack, Dose } from './attack.ts'

export type Options = {
  attacks: readonly Attack[]
  seed: number
  durationMs: number
  dose: Dose
  project: string
}

/** Reads the command line; prints the usage and exits with 2 when an option is invalid. */
export function readOptions(all: readonly Attack[]): Options {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: '' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      seconds: { type: 'string', default: '10' },
      target: { type: 'string', default: 'full' },
      gateway: { type: 'string', default: projectFolder },
    },
  })
  const names = values.only.split(',').filter((name) => name !== '')
  const [seed, seconds] = [Number(values.seed), Number(values.seconds)]
  const { target: dose } = values
  const project = resolve(values.gateway)
  const isKnown = names.every((name) => all.some((attack) => attack.name === name))
  const isThere = existsSync(join(project, 'src/main.ts'))
  if (!isKnown || !isThere || !Number.isSafeInteger(seed) || !(seconds > 0) || !isDose(dose)) {
    console.error(usageOf(all))
    process.exit(2)
  }
  const attacks = names.length === 0 ? all : all.filter(({ name }) => names.includes(name))
  return { attacks, seed, durationMs: seconds * 1000, dose, project }
}

function isDose(text: string): text is Dose {
  return text === 'full' || text === 'quick'
}

function usageOf(all: readonly Attack[]): string {
  return `Usage: npm run attack -- [--only <names>] [--seed <number>] [--seconds 10]
  [--target quick|full] [--gateway <folder of another checkout>]
Names, with commas between them: ${all.map(({ name }) => name).join(', ')}.
--seconds limits attacks that have no end of their own. The same seed sends the same requests.`
}
