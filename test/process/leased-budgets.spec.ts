import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import pg from 'pg'
import { stringify } from 'yaml'
import { completion } from '../support/chat-answers.ts'
import { runCommand } from '../support/command-line.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { hello, ownKey, ownProvider } from '../support/own-endpoint.ts'
import { programPath } from '../support/program-path.ts'
import { startServer, type ServerProcess } from '../support/server-process.ts'
import { sharedPostgres } from '../support/servers/postgres.ts'
import { until } from '../support/until.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

/** For more calls: `PAID_CALLS=5000 npx mocha --no-config test/process/leased-budgets.spec.ts`. */
const paidFor = Number(process.env['PAID_CALLS'] ?? 600)
const tokens = 1000
/** Nearly the whole cost of a call is that of output tokens, at $2 per million. */
const callNanoUsd = tokens * 2000
const budgetNanoUsd = (paidFor + 0.9) * callNanoUsd
const names = ['a', 'b', 'c', 'd']
const callersOfEach = 8

describe('a budget that four replicas on one PostgreSQL lease, two of them killed', () => {
  let folder: TemporaryFolder
  let upstream: Upstream
  let database: pg.Client
  let url: string
  const servers = new Map<string, ServerProcess>()
  before(async function () {
    programPath('postgres', this)
    folder = makeFolder()
    upstream = await startUpstream()
    url = await (await sharedPostgres()).createDatabase()
    const limits = { route_tries_max: 1 }
    const routes = { 'gpt-5-mini': ['own/house-1'] }
    const file = { providers: [ownProvider('own', upstream)], routes, limits }
    writeFileSync(join(folder.path, 'gateway.yaml'), stringify(file))
    database = new pg.Client(url)
    await database.connect()
  })
  after(async () => {
    await database?.end()
    for (const server of servers.values()) {
      server.kill('SIGKILL')
      await server.ended
    }
    await upstream?.stop()
    folder?.remove()
  })

  const variables = (name: string) => ({
    DATABASE_URL: url,
    DATA_DIR: join(folder.path, name),
    CONFIG_FILE: join(folder.path, 'gateway.yaml'),
    OWN_API_KEY: ownKey,
    LOG_LEVEL: 'silent',
  })
  const start = async (name: string) =>
    servers.set(name, await startServer({ folder: folder.path, variables: variables(name) }))
  const restart = async (name: string) => {
    servers.get(name)!.kill('SIGKILL')
    await servers.get(name)!.ended
    await start(name)
  }
  const ask = (server: ServerProcess, key: string) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const body = { model: 'gpt-5-mini', messages: hello, max_completion_tokens: tokens }
    const init = { method: 'POST', headers: { ...headers, 'cache-control': 'no-store' } }
    const sent = { ...init, body: JSON.stringify(body) }
    return fetch(`${server.url}/v1/chat/completions`, sent).then(
      async (answer) => (await answer.text(), answer.status),
      () => 0,
    )
  }
  /** Calls all replicas, also those that are killed meanwhile, until the budget is spent. */
  const spend = async (key: string) => {
    const call = async (server: ServerProcess) => {
      let status = 200
      while (status === 200 || status === 429) status = await ask(server, key)
      return status
    }
    const all = Array.from({ length: callersOfEach }, () => [...servers.values()].map(call))
    return new Set(await Promise.all(all.flat()))
  }
  const read = async (text: string) => {
    const { rows } = await database.query<Record<string, string>>(text)
    return Object.fromEntries(
      Object.entries(rows[0] ?? {}).map(([name, value]) => [name, Number(value)]),
    )
  }

  it('pays no call more than it has money for, and each of them', async function () {
    this.timeout(240_000)
    for (const name of names) await start(name)
    const words = ['keys', 'create', '--mode', 'live', '--name', 'leased']
    const key = /mag_live_[\w-]+/.exec((await runCommand(words, variables('command'))).stdout)![0]
    await database.query(`update accounts set budget_nano_usd = $1, budget_period = 'total'`, [
      budgetNanoUsd,
    ])
    const usage = { prompt_tokens: 9, completion_tokens: tokens, total_tokens: tokens + 9 }
    const restarts: Promise<unknown>[] = []
    upstream.answer((_request, at) => {
      if (at === Math.floor(paidFor / 4)) restarts.push(restart('a'))
      if (at === Math.floor(paidFor / 2)) restarts.push(restart('b'))
      return { ...completion('Hi.', { usage }), delayMs: (at * 7) % 40 }
    })
    let leasing = 0
    const end = new AbortController()
    const watching = (async () => {
      while (!end.signal.aborted) {
        const { count } = await read('select count(*) from budget_leases where nano_usd > 0')
        leasing = Math.max(leasing, count!)
      }
    })()
    expect([...(await spend(key))].toSorted((a, b) => a - b)).to.deep.equal([0, 402])
    await Promise.all(restarts)
    end.abort()
    await watching
    expect(leasing).to.be.at.least(2)
    const sums = `
      select (select spent_nano_usd from budget_windows) as spent,
        (select reserved_nano_usd from budget_windows) as reserved,
        sum(cost_nano_usd) as cost, count(*) as rows,
        count(case when outcome = 'unknown' and cost_nano_usd > 0 then 1 end) as charged from usage`
    await until('no money is held', async () => (await read(sums))['reserved'] === 0)
    // What the killed processes had leased is spent, too.
    expect([...(await spend(key))]).to.deep.equal([402])
    await until('no money is held', async () => (await read(sums))['reserved'] === 0)
    const { spent, cost, rows, charged } = await read(sums)
    const received = upstream.requests.length
    process.stdout.write(
      `      ${received} requests received of ${paidFor} that the budget pays, ${rows} rows, ${charged} charged of killed processes; ${leasing} leases at once\n`,
    )
    expect(received).to.be.at.most(paidFor)
    expect(spent).to.equal(cost)
    expect(spent).to.be.within(budgetNanoUsd - callNanoUsd - 20_000, budgetNanoUsd)
    expect(charged).to.be.at.least(1)
  })
})
