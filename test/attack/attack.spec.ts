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
      this.timeout(120_000)
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
