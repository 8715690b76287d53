import { expect } from 'chai'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { runCommand } from '../support/command-line.ts'
import { openTestStore } from '../support/store.ts'
import { accountRow } from '../support/callers.ts'
import { usageRow } from '../support/usage-row.ts'

const begin = Date.parse('2026-11-01T08:30:00Z')

describe('the command usage', () => {
  let folder: TemporaryFolder
  beforeEach(async () => {
    folder = makeFolder()
    const store = await openTestStore(folder.path)
    const rows = ['m', 'm', 'n\u001b[2J'].map((model, index) => ({
      ...usageRow(`req_${index}`, begin + index),
      mode: 'live',
      model,
      cost_nano_usd: index === 0 ? null : 1_500_000_000,
    }))
    await store.db.insertInto('accounts').values(accountRow('acc_1', 'first')).execute()
    await store.db.insertInto('accounts').values(accountRow('acc_2', 'second')).execute()
    await store.commit(store.insertions('usage', rows))
    await store.close()
  })
  afterEach(() => folder.remove())

  const run = (words: string) =>
    runCommand(['usage', ...words.split(' ')], { DATA_DIR: folder.path })

  it('prints a table of the first account, without control characters of names', async () => {
    const { code, stdout } = await run('--by day,model --since 2026-11-01 --until 2026-11-02')
    expect(code).to.equal(0)
    expect(stdout.split('\n').map((line) => line.replaceAll(/ +/g, ' '))).to.deep.equal([
      'live calls from 2026-11-01T00:00:00.000Z to 2026-11-02T00:00:00.000Z',
      'day model calls failed input tokens output tokens images cost USD',
      '2026-11-01 m 2 0 2 2 0 1.5',
      '2026-11-01 n [2J 1 0 1 1 0 1.5',
      'total 3 0 3 3 0 3',
      'The total omits 1 calls of unknown cost.',
      '',
    ])
  })

  it('prints the report of the API with --json, of the named account', async () => {
    const words = '--by model --since 2026-11-01 --until 2026-11-02 --json --account'
    const [first, second] = await Promise.all([run(`${words} acc_1`), run(`${words} acc_2`)])
    const report = JSON.parse(first.stdout) as { data: object[] }
    expect(report).to.include({ object: 'usage_report', has_more: false, next_cursor: null })
    expect(report.data).to.have.length(2)
    expect(JSON.parse(second.stdout)).to.deep.include({ account_id: 'acc_2', data: [] })
  })

  it('reports by member, and the calls of one member', async () => {
    const range = '--since 2026-11-01 --until 2026-11-02'
    const all = await run(`--by member ${range}`)
    expect(all.stdout).to.match(/\n- +3 /)
    const one = await run(`--json --member usr_1 ${range}`)
    expect(JSON.parse(one.stdout)).to.nested.include({ 'total.calls': 0 })
  })

  it('says that there were no calls, and names the mode with the others', async () => {
    const { stdout } = await run('--since 2026-10-01 --until 2026-10-02')
    expect(stdout).to.match(
      /^There were no live calls from 2026-10-01T\S+ to 2026-10-02T\S+\. `usage --mode test` counts/,
    )
    const test = await run('--since 2026-10-01 --until 2026-10-02 --mode test')
    expect(test.stdout).to.match(/^There were no test calls .*Z\.\n$/)
  })

  it('refuses invalid queries with the name of the option', async () => {
    const wrong: [words: string, message: RegExp][] = [
      ['--by moon', /^--by must be one of: hour, /],
      ['--by day,day', /^--by has "day" twice/],
      [
        '--since yesterday',
        /^--since is malformed: "yesterday"\. Expected: A date in UTC or a time/,
      ],
      ['--since 2026-02-30', /^--since is a time that does not exist: 2026-02-30\./],
      [
        '--until 2100-01-01T05:00Z',
        /^--until is a time before 1970 or after the beginning of 2100: /,
      ],
      ['--since 2026-11-02 --until 2026-11-01', /^--since must be before --until/],
      ['--mode both', /^--mode must be one of/],
      ['--member key_1', /^--member /],
      ['--account acc_none', /^There is no account 'acc_none'/],
    ]
    for (const [words, message] of wrong) {
      const { code, stdout, stderr } = await run(words)
      expect({ code, stdout }, stderr).to.deep.equal({ code: 2, stdout: '' })
      expect(stderr).to.match(message)
    }
  })
})
