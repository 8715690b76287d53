import { expect } from 'chai'
import { runIn, useDatabase } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { runProgram } from '../support/program.ts'
import { printedKey, startServer } from '../support/server-process.ts'
import { programPath } from '../support/program-path.ts'
import { sharedPostgres } from '../support/servers/postgres.ts'
import { openTestStore } from '../support/store.ts'
import { usageRow } from '../support/usage-row.ts'

const body = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hi' }] }

describe('the gateway with DATABASE_URL', () => {
  let folder: TemporaryFolder
  let url: string
  before(function () {
    programPath('postgres', this)
  })
  beforeEach(async () => {
    folder = makeFolder()
    url = await (await sharedPostgres()).createDatabase()
  })
  afterEach(() => folder.remove())

  const variables = (more: object = {}) => ({ DATABASE_URL: url, DATA_DIR: folder.path, ...more })
  const run = (script: string, words: readonly string[], more = {}) =>
    runProgram(script, words, { folder: folder.path, variables: variables(more) })

  it('starts twice at once on an empty database, records calls of both, and starts again', async () => {
    const both = await Promise.all(
      ['a', 'b'].map((name) =>
        startServer({
          folder: folder.path,
          variables: variables({ DATA_DIR: `${folder.path}/${name}` }),
        }),
      ),
    )
    const keys = both.map(printedKey).filter((key) => key !== undefined)
    expect(keys).to.have.length(1)
    for (const server of both) {
      const answer = await fetch(`${server.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keys[0]}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      expect(answer.status).to.equal(200)
      await answer.text()
    }
    for (const server of both) server.kill('SIGTERM')
    expect(
      (await Promise.all(both.map(({ ended }) => ended))).map(({ code }) => code),
    ).to.deep.equal([0, 0])
    expect(await runIn(url, 'select count(*)::int as rows from usage')).to.deep.equal([{ rows: 2 }])
    const { code, stdout } = await run('src/command-line.ts', ['doctor'])
    expect(stdout).to.match(
      /^Store +PostgreSQL \d+\S*( \(.*\))?, database test_\w+ on 127\.0\.0\.1:\d+, for keys, .*; \d+ migrations, writable, 1 active keys$/m,
    )
    expect(code).to.equal(0)
  })

  it('exits with one sentence and code 1 if the database cannot be opened', async () => {
    const secret = { DATABASE_URL: `${url.replace('gateway@', 'gateway:hidden@')}_none` }
    const { code, stderr } = await run('src/main.ts', [], secret)
    expect(code).to.equal(1)
    expect(stderr).to.match(
      /^The gateway cannot start: The database \S+ on \S+ cannot be opened: the database \S+ does not exist/,
    )
    expect(stderr.trim().split('\n')).to.have.length(1)
    expect(stderr).to.not.contain('hidden')
  })

  it('is checked by npm run recompute', async () => {
    useDatabase(folder.path, url)
    const store = await openTestStore(folder.path)
    const rows = Array.from({ length: 2500 }, (_, at) => ({
      ...usageRow(`req_${at}`, at),
      pricing: '{"prices":{}}',
      cost_nano_usd: at === 7 ? 1 : 0,
    }))
    await store.commit(store.insertions('usage', rows))
    await store.close()
    const { code, stdout } = await run('scripts/recompute.ts', ['--json'])
    expect(JSON.parse(stdout)).to.include({ rows: 2500, differences: 1 })
    expect(code).to.equal(1)
  })
})
