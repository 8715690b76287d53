import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { attacks as all } from '../../scripts/attack/attacks.ts'
import { runAttacks } from '../../scripts/attack/run.ts'
import type { Row } from '../../scripts/attack/table.ts'
import { makeFolder } from '../support/folder.ts'
import { projectFolder } from '../support/program.ts'

const seeds = [20_261_122]

// The attacks of `npm run attack` in small doses. Those that kill and starve gateways of their own have specs
// of their own among the tests.
const attacks = all.filter(({ startsOwn }) => !startsOwn)

for (const seed of seeds) {
  describe(`a gateway under attack (seed ${seed})`, () => {
    let rows: Row[]
    before(async function () {
      this.timeout(150_000)
      const folder = makeFolder()
      const chosen = { seed, dose: 'quick', durationMs: 500, project: projectFolder } as const
      try {
        rows = await runAttacks({ ...chosen, attacks, folder: folder.path, onStart: () => {} })
      } finally {
        folder.remove()
      }
    })

    for (const { name } of [...attacks, { name: 'memory' }]) {
      it(`holds against ${name}`, () => {
        const { tried, failures } = rows.find((row) => row.name === name)!.outcome
        expect(tried).to.be.greaterThan(0)
        expect(
          failures.map(({ what, request }) => `${what}\n${request.toString().slice(0, 2000)}`),
          `npm run attack -- --target quick --only ${name} --seed ${seed}`,
        ).to.deep.equal([])
      })
    }
  })
}

describe('the page on security', () => {
  it('names attacks that there are, and all of them', () => {
    const page = readFileSync(join(projectFolder, 'SECURITY.md'), 'utf8')
    const [, rows = ''] = /\n\| Promise[^\n]*\n([\s\S]*?)\n\n/.exec(page) ?? []
    const cells = rows.split('\n').map((row) => row.split('|')[2] ?? '')
    const named = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!))
    const names = all.map(({ name }) => name)
    const covers = (pattern: string, name: string) =>
      pattern.endsWith('…') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
    const gone = named.filter((pattern) => !names.some((name) => covers(pattern, name)))
    const untold = names.filter((name) => !named.some((pattern) => covers(pattern, name)))
    expect({ gone, untold }).to.deep.equal({ gone: [], untold: [] })
  })
})
