import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { attacks as all } from '../../scripts/attack/attacks.ts'
import { startDoubles } from '../../scripts/attack/doubles.ts'
import { leaving } from '../../scripts/attack/leaving.ts'
import { money } from '../../scripts/attack/money.ts'
import { runAttacks } from '../../scripts/attack/run.ts'
import type { Row } from '../../scripts/attack/table.ts'
import { startTarget } from '../../scripts/attack/target.ts'
import { startOf } from '../../scripts/bench/gateway.ts'
import { makeFolder, projectFolder } from '../support/folder.ts'

// The attacks of `npm run attack` in small doses. Other attacks that kill or starve their own gateways have
// specs in other folders.
const attacks = all.filter(
  (attack) => attack.startsOwn !== true || attack === money || attack === leaving,
)
const runs = [
  { seed: 20_261_122, attacks },
  // The suite's name contains the seed, with which a failure can be repeated.
  { seed: randomInt(2 ** 31), attacks: attacks.filter(({ isDrawn }) => isDrawn) },
]

for (const { seed, attacks: chosen } of runs) {
  describe(`a gateway under attack (seed ${seed})`, () => {
    let rows: Row[]
    before(async function () {
      // A busy machine takes several times as long as an idle one.
      this.timeout(1_200_000)
      const folder = makeFolder()
      const options = { seed, dose: 'quick', durationMs: 500, project: projectFolder } as const
      try {
        rows = await runAttacks({
          ...options,
          attacks: chosen,
          folder: folder.path,
          onStart: () => {},
        })
      } finally {
        folder.remove()
      }
    })

    for (const { name } of [...chosen, { name: 'memory' }]) {
      it(`withstands ${name}`, () => {
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

describe('the gateway of npm run attack', () => {
  it('starts with the flags of npm start', async function () {
    const folder = makeFolder()
    const doubles = await startDoubles()
    const prepared = { testKey: '', liveKey: '', operatorKey: '', dataDir: '' }
    const place = {
      project: projectFolder,
      folder: folder.path,
      dataDir: join(folder.path, 'data'),
    }
    const target = await startTarget({ ...place, doubles, prepared })
    try {
      const wordsOf = (file: string) =>
        readFileSync(`/proc/${target.processId}/${file}`, 'utf8').split('\0')
      const started = new Set([...wordsOf('environ'), ...wordsOf('cmdline')])
      const { flags, variables } = startOf(projectFolder)
      // Tests use another folder for the compile cache.
      const { NODE_COMPILE_CACHE: _, ...others } = variables
      const asked = [...flags, ...Object.entries(others).map((pair) => pair.join('='))]
      expect(asked).to.include.members(['--expose-gc', 'MALLOC_ARENA_MAX=1'])
      expect(asked.filter((word) => !started.has(word))).to.deep.equal([])
    } finally {
      await target.stop()
      await doubles.stop()
      folder.remove()
    }
  })
})

describe('SECURITY.md', () => {
  it('names every attack of npm run attack, and no other', () => {
    const page = readFileSync(join(projectFolder, 'SECURITY.md'), 'utf8')
    const [, rows = ''] = /\n\| Promise[^\n]*\n([\s\S]*?)\n\n/.exec(page) ?? []
    const cells = rows.split('\n').map((row) => row.split('|')[2] ?? '')
    const named = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!))
    const names = all.map(({ name }) => name)
    const covers = (pattern: string, name: string) =>
      pattern.endsWith('…') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
    const gone = named.filter((pattern) => !names.some((name) => covers(pattern, name)))
    const missing = names.filter((name) => !named.some((pattern) => covers(pattern, name)))
    expect({ gone, missing }).to.deep.equal({ gone: [], missing: [] })
  })
})
