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

const paidFor = 10
const tokens = 1000
/** Nearly the whole cost of a call is that of output tokens, at $2 per million. */
const budgetNanoUsd = (paidFor + 0.9) * tokens * 2000

for (const owner of ['member', 'tag'] as const) {
  describe(`the budget of a ${owner}, in which calls at two replicas on one PostgreSQL count`, () => {
    let folder: TemporaryFolder
    let upstream: Upstream
    let database: pg.Client
    let url: string
    const servers: ServerProcess[] = []
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
      for (const server of servers) {
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
    const start = async (name: string) => {
      const server = await startServer({ folder: folder.path, variables: variables(name) })
      servers.push(server)
      return server
    }
    const createKey = async (name: string, more: readonly string[] = []) => {
      const words = ['keys', 'create', '--mode', 'live', '--name', name, ...more]
      const { stdout } = await runCommand(words, variables('command'))
      return /mag_live_[\w-]+/.exec(stdout)![0]
    }
    const ask = async (server: ServerProcess, key: string, tags = 'nightly') => {
      const authorization = `Bearer ${key}`
      const headers = { authorization, 'content-type': 'application/json', 'x-gateway-tags': tags }
      const body = { model: 'gpt-5-mini', messages: hello, max_completion_tokens: tokens }
      const init = { method: 'POST', headers: { ...headers, 'cache-control': 'no-store' } }
      const sent = { ...init, body: JSON.stringify(body) }
      return fetch(`${server.url}/v1/chat/completions`, sent).then(
        async (answer) => (await answer.text(), answer.status),
        () => 0,
      )
    }
    const window = async () => {
      const { rows } = await database.query<{ spent: string; held: string }>(
        `select spent_nano_usd as spent, reserved_nano_usd as held from budget_windows
       where owner_id like '%:usr_1' or owner_id like '%#nightly'`,
      )
      return { spent: Number(rows[0]?.spent ?? 0), held: Number(rows[0]?.held ?? 0) }
    }

    const keysOfMember = async () => {
      const keys = [await createKey('own'), await createKey('own')]
      await database.query(`insert into people values ('usr_1', 'a@example.com', 'Ada', 'x', 0)`)
      await database.query(
        `insert into members (account_id, person_id, role, joined_at, budget_nano_usd, budget_period)
       select id, 'usr_1', 'member', 0, $1, 'total' from accounts`,
        [budgetNanoUsd],
      )
      await database.query(`update api_keys set created_by = 'usr_1' where name = 'own'`)
      return keys
    }
    const keyWithTag = async () => {
      const usd = String(budgetNanoUsd / 1e9)
      return [await createKey('own', ['--tag-budget', `nightly:${usd}/total`])]
    }

    it('is never exceeded, with one replica killed, while the account has no budget', async () => {
      const [a, b] = [await start('a'), await start('b')]
      const keys = owner === 'member' ? await keysOfMember() : await keyWithTag()
      const others = await createKey('other')
      const usage = { prompt_tokens: 9, completion_tokens: tokens, total_tokens: tokens + 9 }
      upstream.answer((_request, at) => {
        if (at === 4) b.kill('SIGKILL')
        return { ...completion('Hi.', { usage }), delayMs: (at * 7) % 30 }
      })
      let highest = 0
      const end = new AbortController()
      const watching = (async () => {
        while (!end.signal.aborted) {
          const { spent, held } = await window()
          highest = Math.max(highest, spent + held)
        }
      })()
      const round = (among: readonly ServerProcess[]) =>
        Promise.all(
          Array.from({ length: 100 }, (_, at) =>
            ask(among[at % among.length]!, keys[at % keys.length]!),
          ),
        )
      await round([a, b])
      await b.ended
      const again = await start('b')
      const statuses = await round([a, again])
      expect(statuses).to.include(402)
      end.abort()
      await watching
      expect(highest).to.be.within(1, budgetNanoUsd)
      expect(upstream.requests.length).to.be.at.most(paidFor)
      // The calls of the killed process are charged what they held.
      await until('no money is held', async () => (await window()).held === 0)
      const { rows } = await database.query<{ cost: string }>(
        'select coalesce(sum(cost_nano_usd), 0) as cost from usage',
      )
      expect((await window()).spent).to.equal(Number(rows[0]!.cost))
      expect(await ask(a, owner === 'member' ? others : keys[0]!, 'weekly')).to.equal(200)
    })
  })
}
