import { randomBytes } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { stringify } from 'yaml'
import { chanceFrom } from '../support/chance.ts'
import { completion } from '../support/chat-answers.ts'
import { runCommand } from '../support/command-line.ts'
import { runIn } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { hello, ownKey, ownProvider } from '../support/own-endpoint.ts'
import { programPath } from '../support/program-path.ts'
import { startServer } from '../support/server-process.ts'
import { sharedPostgres } from '../support/servers/postgres.ts'
import { until } from '../support/until.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

/** For more rounds: `CALL_ROUNDS=200 npx mocha --no-config test/process/killed-calls.spec.ts`. */
const rounds = Number(process.env['CALL_ROUNDS'] ?? 5)
const seed = 20_261_129
const callers = 16
const callsMax = 400

for (const kind of ['sqlite', 'postgres'] as const) {
  describe(`calls without a budget on ${kind}, in a process that is killed ${rounds} times`, () => {
    const chance = chanceFrom(seed)
    let folder: TemporaryFolder
    let upstream: Upstream
    let database: Record<string, string> = {}
    before(async function () {
      if (kind === 'postgres') programPath('postgres', this)
      folder = makeFolder()
      upstream = await startUpstream()
      if (kind === 'sqlite') return
      database = {
        DATABASE_URL: await (await sharedPostgres()).createDatabase(),
        ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      }
    })
    after(async () => {
      await upstream.stop()
      folder.remove()
    })

    const dataDir = () => join(folder.path, 'data')
    const variables = () => ({
      ...database,
      DATA_DIR: dataDir(),
      CONFIG_FILE: join(folder.path, 'gateway.yaml'),
      OWN_API_KEY: ownKey,
      LOG_LEVEL: 'silent',
    })
    const start = () => startServer({ folder: folder.path, variables: variables() })
    const read = async (text: string): Promise<Record<string, string | number>[]> => {
      const { DATABASE_URL: url } = database
      return (url === undefined ? readFile(text) : await runIn(url, text)) as never
    }
    const readFile = (text: string) => {
      const file = new DatabaseSync(join(dataDir(), 'gateway.db'), { timeout: 5000 })
      try {
        return file.prepare(text).all()
      } finally {
        file.close()
      }
    }
    let calls = 0
    const callUntilItEnds = async (url: string, key: string): Promise<number> => {
      let answers = 0
      for (let call = 0; call < callsMax; call++) {
        // A model of its own, by which its row is found.
        const body = { model: `own/call-${++calls}`, messages: hello }
        try {
          const answer = await fetch(`${url}/v1/chat/completions`, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${key}`,
              'content-type': 'application/json',
              'cache-control': 'no-store',
            },
            body: JSON.stringify(body),
          })
          await answer.text()
          if (answer.ok) answers += 1
        } catch {
          break
        }
      }
      return answers
    }

    it('leave a row for each request that the vendor received', async function () {
      this.timeout(60_000 + rounds * 30_000)
      const file = { providers: [ownProvider('own', upstream)], limits: { route_tries_max: 1 } }
      writeFileSync(join(folder.path, 'gateway.yaml'), stringify(file))
      let server = await start()
      const words = ['keys', 'create', '--mode', 'live', '--name', 'killed']
      const key = /mag_live_[\w-]+/.exec((await runCommand(words, variables())).stdout)![0]
      let answers = 0
      let killAt = Infinity
      const delays = Array.from({ length: 97 }, () => chance.below(20))
      upstream.answer((_request, at) => {
        if (at + 1 === killAt) server.kill('SIGKILL')
        return { ...completion('Hi.'), delayMs: delays[at % delays.length]! }
      })
      for (let round = 0; round < rounds; round++) {
        killAt = upstream.requests.length + callers + chance.below(100)
        const counts = Array.from({ length: callers }, () => callUntilItEnds(server.url, key))
        answers += (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
        await server.ended
        server = await start()
      }
      const own = () => readdirSync(dataDir()).filter((name) => name.startsWith('gateway.calls-'))
      await until('the marks of killed processes are rows', () => own().length === 1)
      const received = upstream.requests.map(
        ({ body }) => `own/${(body as { model: string }).model}`,
      )
      const rows = await read('select model, outcome from usage')
      const withRow = new Set(rows.map(({ model }) => model))
      const count = (of: string) => rows.filter(({ outcome }) => outcome === of).length
      process.stdout.write(
        `      ${received.length} requests received, ${answers} answers, ${rows.length} rows, ${count('unknown')} of unknown cost\n`,
      )
      expect(received.filter((model) => !withRow.has(model))).to.deep.equal([])
      expect(withRow.size).to.equal(rows.length)
      // A call that was killed between its mark and its request has a row too.
      expect(rows.length - received.length).to.be.at.most(rounds * callers)
      expect(count('unknown')).to.be.at.least(1)
      expect(count('ok')).to.be.at.least(answers)
      const [sums] = await read('select sum(calls) as calls from usage_hours')
      expect(Number(sums!['calls'])).to.equal(rows.length)
      server.kill('SIGTERM')
      await server.ended
      expect(own()).to.deep.equal([])
    })
  })
}
