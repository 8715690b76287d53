import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { stringify } from 'yaml'
import { chanceFrom } from '../support/chance.ts'
import { completion } from '../support/chat-answers.ts'
import { runCommand } from '../support/command-line.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { hello, ownKey, ownProvider } from '../support/own-endpoint.ts'
import { startServer } from '../support/server-process.ts'
import { until } from '../support/until.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

/** For more rounds, which take minutes: `BUDGET_ROUNDS=50 npx mocha --no-config test/process/killed-budgets.spec.ts`. */
const rounds = Number(process.env['BUDGET_ROUNDS'] ?? 1)
const seed = Number(process.env['BUDGET_SEED'] ?? 20_261_122)
const calls = 200
const paidFor = 10
const tokens = 1000
/** Nearly the whole cost of a call is that of output tokens, at $2 per million. */
const budgetNanoUsd = (paidFor + 0.9) * tokens * 2000

type Sums = { spent: number; reserved: number; held: number; recorded: number; rows: number }

describe(`a budget for ${paidFor} of ${calls} calls, ${rounds} times, a third of them killed`, () => {
  const chance = chanceFrom(seed)
  let folder: TemporaryFolder
  let upstream: Upstream
  beforeEach(async () => {
    folder = makeFolder()
    upstream = await startUpstream()
  })
  afterEach(async () => {
    await upstream.stop()
    folder.remove()
  })

  const variables = () => ({
    DATA_DIR: join(folder.path, 'data'),
    CONFIG_FILE: join(folder.path, 'gateway.yaml'),
    OWN_API_KEY: ownKey,
    LOG_LEVEL: 'silent',
  })
  const start = () => startServer({ folder: folder.path, variables: variables() })
  const configure = () => {
    const limits = { route_tries_max: 1 }
    const routes = { 'gpt-5-mini': ['own/house-1'] }
    const file = { providers: [ownProvider('own', upstream)], routes, limits }
    writeFileSync(join(folder.path, 'gateway.yaml'), stringify(file))
  }
  const createKey = async () => {
    const words = ['keys', 'create', '--mode', 'live', '--name', 'budget']
    const { stdout } = await runCommand(words, variables())
    return /mag_live_[\w-]+/.exec(stdout)![0]
  }
  const inStore = <T>(run: (database: DatabaseSync) => T): T => {
    const database = new DatabaseSync(join(folder.path, 'data', 'gateway.db'), { timeout: 5000 })
    try {
      return run(database)
    } finally {
      database.close()
    }
  }
  const sums = () =>
    inStore((database) => {
      const text = `select
        (select spent_nano_usd from budget_windows) spent,
        (select reserved_nano_usd from budget_windows) reserved,
        (select coalesce(sum(nano_usd), 0) from reservations) held,
        (select coalesce(sum(cost_nano_usd), 0) from usage) recorded,
        (select count(*) from usage) rows`
      return database.prepare(text).get() as Sums
    })
  const ask = async (url: string, key: string) => {
    try {
      const answer = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'cache-control': 'no-store',
        },
        body: JSON.stringify({
          model: 'gpt-5-mini',
          messages: hello,
          max_completion_tokens: tokens,
        }),
      })
      await answer.text()
      return answer.status
    } catch {
      return 0
    }
  }

  for (let round = 0; round < rounds; round++) {
    const isKilled = round % 3 === 0
    it(`pays at most ${paidFor} calls, round ${round + 1}${isKilled ? ', killed' : ''}`, async function () {
      configure()
      const usage = { prompt_tokens: 9, completion_tokens: tokens, total_tokens: tokens + 9 }
      let server = await start()
      const key = await createKey()
      inStore((database) =>
        database.exec(
          `update api_keys set budget_nano_usd = ${budgetNanoUsd}, budget_period = 'total'`,
        ),
      )
      const killAt = isKilled ? 1 + chance.below(paidFor) : Infinity
      const delays = Array.from({ length: calls }, () => chance.below(30))
      upstream.answer((_request, at) => {
        if (at + 1 === killAt) server.kill('SIGKILL')
        return { ...completion('Hi.', { usage }), delayMs: delays[at % calls]! }
      })
      const all = () => Array.from({ length: calls }, () => ask(server.url, key))
      const statuses = await Promise.all(all())
      if (isKilled) {
        await server.ended
        server = await start()
        statuses.push(...(await Promise.all(all())))
      }
      const paid = upstream.requests.length
      const good = statuses.filter((status) => status === 200).length
      expect(paid).to.be.at.most(paidFor)
      if (!isKilled) expect([paid, good]).to.deep.equal([paidFor, paidFor])
      const during = sums()
      expect(during.rows).to.be.at.least(good)
      expect(during.spent).to.equal(during.recorded)
      expect(during.reserved).to.equal(during.held)
      // Simulates that the deadlines of reservations have passed.
      inStore((database) => database.exec('update reservations set expires_at = 1'))
      await until('no reservation is left', () => sums().held === 0)
      const after = sums()
      expect(after).to.include({ reserved: 0, held: 0, spent: after.recorded })
      expect(after.spent).to.be.at.most(budgetNanoUsd)
      // Calls in progress when the process died have rows too.
      expect(after.rows).to.be.at.least(paid)
      server.kill('SIGTERM')
      await server.ended
    })
  }
})
