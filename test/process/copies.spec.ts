import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { storePath } from '../../src/storage/store.ts'
import { accountRow } from '../support/callers.ts'
import { chanceFrom } from '../support/chance.ts'
import { runCommand } from '../support/command-line.ts'
import { makeFolder, projectFolder, type TemporaryFolder } from '../support/folder.ts'
import { readLedger } from '../support/ledger-file.ts'
import { startLoad } from '../support/load.ts'
import { runProgram, startProgram } from '../support/program.ts'
import { printedKey, startServer, type ServerProcess } from '../support/server-process.ts'
import { openTestStore } from '../support/store.ts'
import { until } from '../support/until.ts'
import { usageRow } from '../support/usage-row.ts'

const seed = 20_261_122

describe('the commands that copy a store', () => {
  let folder: TemporaryFolder
  let server: ServerProcess | undefined
  beforeEach(() => (folder = makeFolder()))
  afterEach(async () => {
    server?.kill('SIGKILL')
    await server?.ended
    server = undefined
    folder.remove()
  })

  const at = (name: string) => join(folder.path, name)
  const run = (words: string, data = 'data') =>
    runProgram('src/command-line.ts', words.split(' '), {
      folder: folder.path,
      variables: { DATA_DIR: at(data) },
    })
  const start = async (data = 'data') => {
    const variables = { DATA_DIR: at(data), LOG_LEVEL: 'silent' }
    server = await startServer({ folder: folder.path, variables })
    return server
  }
  const stop = async (signal: 'SIGTERM' | 'SIGKILL') => {
    server!.kill(signal)
    await server!.ended
    server = undefined
  }
  const ask = (url: string, key: string) =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: '{"model":"gpt-5-mini","messages":[{"role":"user","content":"hello"}]}',
    })

  it('copy all calls answered before, under load; keys work in the copies', async () => {
    const first = await start()
    const key = printedKey(first)!
    let answered = 0
    const chance = chanceFrom(seed)
    const onAnswer = (count: number) => void (answered = count)
    const load = startLoad({ url: first.url, key, callers: 8, chance, onAnswer })
    await until('calls are answered', () => answered > 40)
    const before = load.acknowledged.map(({ requestId }) => requestId)
    const backup = await run('backup copy.db --json')
    expect(backup.stderr).to.equal('')
    const during = load.acknowledged.length
    const report = JSON.parse(backup.stdout) as { file: string; accounts: number; calls: number }
    expect(report).to.include({ file: at('copy.db'), accounts: 1 })
    expect(report.calls).to.be.at.least(before.length)
    const exported = await run('export rows.jsonl')
    expect(exported.stdout).to.match(/^Exported \d+ rows to .*The export was verified\.\n/)
    await until('calls are answered again', () => load.acknowledged.length > during + 20)
    const refused = await run('restore copy.db')
    expect(refused).to.include({ code: 1, stdout: '' })
    expect(refused.stderr).to.match(
      /is in use: a running gateway uses it \(process \d+ on .*\. Stop it first\.\n$/,
    )
    await stop('SIGKILL')
    await load.over

    const moved = await run('import rows.jsonl', 'moved')
    expect(moved.stdout).to.match(
      /^Imported \d+ rows from .*\. The calls cost \$[\d.]+, in the export and in the store\.\n/,
    )
    const restored = await run('restore copy.db')
    expect(restored.stdout).to.match(/^Restored .*\nThe previous store is in .*replaced-/)
    for (const data of ['data', 'moved']) {
      const ids = new Set(readLedger(at(data)).rows.map(({ id }) => id))
      expect(
        before.filter((id) => !ids.has(id)),
        data,
      ).to.deep.equal([])
      const { stdout, code } = await runProgram('scripts/recompute.ts', [at(data), '--json'], {
        folder: folder.path,
      })
      expect({ code, ...(JSON.parse(stdout) as object) }).to.include({ code: 0, differences: 0 })
      const { url } = await start(data)
      expect((await ask(url, key)).status).to.equal(200)
      await stop('SIGTERM')
    }
  })

  for (const command of ['restore copy.db', 'import rows.jsonl']) {
    it(`${command}, killed at any moment, leaves one store or none`, async () => {
      const store = await openTestStore(at('data'))
      await store.db.insertInto('accounts').values(accountRow('acc_1')).execute()
      const rows = Array.from({ length: 8000 }, (_, index) => usageRow(`row_${index}`, index))
      await store.commit(store.insertions('usage', rows))
      await store.close()
      await run('backup copy.db')
      await run('export rows.jsonl')
      const chance = chanceFrom(seed)
      for (const data of ['other-1', 'other-2', 'other-3']) {
        const words = [join(projectFolder, 'src/command-line.ts'), ...command.split(' ')]
        const variables = { DATA_DIR: at(data) }
        const program = startProgram(process.execPath, words, { folder: folder.path, variables })
        await sleep(200 + chance.below(500))
        program.kill('SIGKILL')
        await program.ended
        const isThere = existsSync(storePath(at(data)))
        if (!isThere) {
          const { code, stderr } = await run(command, data)
          expect(code, stderr).to.equal(0)
          expect(readdirSync(at(data))).to.deep.equal(['gateway.db', 'gateway.lock'])
        }
        const { rows: kept, integrity } = readLedger(at(data))
        expect([kept.length, integrity]).to.deep.equal([8000, 'ok'])
      }
    })
  }

  it('name missing arguments, and the tools to use with PostgreSQL', async () => {
    for (const name of ['backup', 'restore', 'export', 'import']) {
      const { code, stderr } = await runCommand([name], { DATA_DIR: at('data') })
      expect({ code, stderr }).to.deep.equal({
        code: 2,
        stderr: `The file is missing. Usage: npm run -s gateway -- ${name} <file>\n`,
      })
    }
    const none = await runCommand(['backup', at('copy.db')], { DATA_DIR: at('data') })
    expect(none.code).to.equal(1)
    expect(none.stderr).to.match(
      /^The store .*gateway\.db does not exist\. Set DATA_DIR to the gateway's folder\.\n$/,
    )
    for (const [command, tool] of [
      ['backup', 'pg_dump --format=custom'],
      ['restore', 'pg_restore --clean'],
    ] as const) {
      const { code, stderr } = await runCommand([command, 'x.dump'], {
        DATABASE_URL: 'postgres://gate:hidden@127.0.0.1:1/usage?sslpassword=hidden',
        DATA_DIR: at('data'),
      })
      expect(code).to.equal(2)
      expect(stderr).to.include(tool).and.include(`'postgres://gate@127.0.0.1:1/usage'`)
      expect(stderr).to.not.include('hidden')
    }
  })
})
