import { readdirSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { storePath } from '../../src/storage/store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { runProgram } from '../support/program.ts'
import { openTestStore } from '../support/store.ts'
import { usageRow } from '../support/usage-row.ts'

type Report = { rows: number; not_explained: number; differences: number; differing: object[] }

describe('npm run recompute', () => {
  let folder: TemporaryFolder
  beforeEach(() => {
    folder = makeFolder()
  })
  afterEach(() => folder.remove())

  const prices = { prices: { input_tokens: '0.00000025', output_tokens: '0.000002' } }
  const rows = [
    { input_tokens: 7, output_tokens: 3, pricing: JSON.stringify(prices), cost_nano_usd: 7750 },
    { pricing: '{"prices":{"vendor_charge":"0.000000009"}}', cost_nano_usd: 9 },
    { pricing: '{"prices":null}', cost_nano_usd: null },
    { pricing: '{"prices":{}}', cost_nano_usd: 0 },
    { pricing: null, cost_nano_usd: 123 },
  ]
  const keep = async () => {
    const store = await openTestStore(folder.path)
    const whole = rows.map((row, index) => ({ ...usageRow(`req_${index}`, index), ...row }))
    await store.commit(store.insertions('usage', whole))
    await store.close()
  }
  const recompute = async (...args: string[]) => {
    const ended = await runProgram('scripts/recompute.ts', args, { folder: folder.path })
    return { ...ended, report: () => JSON.parse(ended.stdout) as Report }
  }

  it('finds no differences, and counts rows of older versions without pricing', async () => {
    await keep()
    for (const path of [folder.path, storePath(folder.path)]) {
      const { code, stderr, report } = await recompute(path, '--json')
      expect(stderr).to.equal('')
      expect(report()).to.include({ rows: 5, not_explained: 1, differences: 0 })
      expect(code).to.equal(0)
    }
  })

  it('names each changed row, and exits with 1', async () => {
    await keep()
    const database = new DatabaseSync(storePath(folder.path))
    database.exec(`update usage set cost_nano_usd = 7751 where id = 'req_0'`)
    database.exec(`update usage set input_tokens = 8, pricing = 'no JSON' where id = 'req_1'`)
    database.close()
    const { code, report } = await recompute(folder.path, '--json')
    expect(code).to.equal(1)
    expect(report().differing).to.deep.equal([
      { id: 'req_0', account_id: 'acc_1', stored_nano_usd: 7751, computed_nano_usd: 7750 },
      {
        id: 'req_1',
        account_id: 'acc_1',
        stored_nano_usd: 9,
        computed_nano_usd: 'its pricing cannot be read',
      },
    ])
    const { stdout } = await recompute(folder.path)
    expect(stdout).to.include('req_0: stored $0.000007751, computed $0.00000775\n')
    expect(stdout).to.include('\n2 differences\n')
  })

  it('names a ledger that it cannot read', async () => {
    for (const args of [[], ['none.db'], [folder.path]]) {
      const { code, stderr } = await recompute(...args)
      expect(code).to.equal(2)
      expect(stderr).to.match(/^Name the store|does not exist\.$/m)
    }
    expect(readdirSync(folder.path)).to.deep.equal([])
  })
})
