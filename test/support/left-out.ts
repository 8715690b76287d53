import type { Runner, Test } from 'mocha'
import { installCommand } from '../../scripts/test-servers/programs.ts'

let leftOut: Test[] = []

/** Collects skipped tests; runs once, in Mocha's first process. */
export function mochaGlobalSetup(this: Runner): void {
  leftOut = []
  // Mocha ends an interrupted run with 0; at the end of a whole run it replaces this code.
  process.exitCode = 1
  this.on('pending', (test) => void leftOut.push(test))
}

/** Lists the skipped tests, and how to install the programs they need. With `CI=true` a skipped test is a failure. */
export function mochaGlobalTeardown(): void {
  if (leftOut.length === 0) return
  const install = installCommand()
  const reason =
    install === undefined
      ? 'this user may not what they need'
      : `to be installed as root: ${install}`
  const suites = new Set(leftOut.map((test) => test.titlePath().slice(0, -1).join(' ')))
  process.stdout.write(
    `Left out (${reason}):\n${[...suites].map((name) => `  ${name}\n`).join('')}`,
  )
  if (process.env['CI'] === 'true') throw new Error('With CI=true no test may be skipped.')
}
