import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { chanceFrom } from '../support/chance.ts'
import { runCommand } from '../support/command-line.ts'
import { runIn } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { alibabaKey, startAlibabaDouble } from '../support/image-doubles/alibaba.ts'
import { bytedanceKey, startBytedanceDouble } from '../support/image-doubles/bytedance.ts'
import type { ImageDouble } from '../support/image-doubles/double.ts'
import { jobsPath, type Job } from '../support/image-jobs.ts'
import { programPath } from '../support/program-path.ts'
import { startServer, type ServerProcess } from '../support/server-process.ts'
import { sharedPostgres } from '../support/servers/postgres.ts'
import { startBucket, type TestBucket } from '../support/servers/swift.ts'
import { until } from '../support/until.ts'

/** For more rounds, which take minutes: `JOB_ROUNDS=60 npx mocha --no-config test/process/killed-jobs.spec.ts`. */
const rounds = Number(process.env['JOB_ROUNDS'] ?? 2)
const seed = Number(process.env['JOB_SEED'] ?? 20_261_128)
const jobsPerRound = 6
const delayMsMax = 5000
const pricesNanoUsd: Record<string, number> = {
  'alibaba/qwen-image-plus': 30_000_000,
  'bytedance/seedream-4-0': 35_000_000,
}
const models = Object.keys(pricesNanoUsd)

type Accepted = { id: string; prompt: string }
type Row = { id: string; outcome: string; cost_nano_usd: number | string | null; model: string }

for (const kind of ['sqlite', 'postgres'] as const) {
  const processes = kind === 'sqlite' ? 'one process' : 'two replicas'
  describe(`image jobs of ${processes} on ${kind}, killed ${rounds} times`, function () {
    this.timeout(120_000)
    const chance = chanceFrom(seed)
    const accepted: Accepted[] = []
    let folder: TemporaryFolder
    let bucket: TestBucket | undefined
    let variables: Record<string, string>
    let alibaba: ImageDouble
    let bytedance: ImageDouble
    let key: string
    let servers: ServerProcess[] = []
    let jobs: Map<string, Job>
    let rows: Row[]

    const start = (name: string) =>
      startServer({
        folder: folder.path,
        variables: { ...variables, DATA_DIR: join(folder.path, name) },
      })
    const ask = (
      server: ServerProcess,
      path: string,
      init: { method?: string; headers?: Record<string, string>; body?: string } = {},
    ) =>
      fetch(server.url + path, {
        ...init,
        headers: { authorization: `Bearer ${key}`, ...init.headers },
        signal: AbortSignal.timeout(20_000),
      })
    const post = async (server: ServerProcess, prompt: string, model: string) => {
      const response = await ask(server, '/v1/images/generations', {
        method: 'POST',
        headers: { 'content-type': 'application/json', prefer: 'respond-async' },
        body: JSON.stringify({ model, prompt }),
      })
      expect(response.status, await response.clone().text()).to.equal(202)
      const { id } = (await response.json()) as Job
      accepted.push({ id, prompt })
    }
    const list = async (): Promise<Job[]> => {
      const found: Job[] = []
      for (let after = ''; ;) {
        const page = await ask(servers[0]!, `${jobsPath}?limit=100${after}`)
        expect(page.status, await page.clone().text()).to.equal(200)
        const {
          data,
          has_more: more,
          last_id: last,
        } = (await page.json()) as {
          data: Job[]
          has_more: boolean
          last_id: string
        }
        found.push(...data)
        if (!more) return found
        after = `&after=${last}`
      }
    }

    const ledger = async (): Promise<Row[]> => {
      const text = 'select id, outcome, cost_nano_usd, model from usage'
      const { DATABASE_URL: url } = variables
      if (url !== undefined) {
        const found = (await runIn(url, text)) as Row[]
        return found.map((row) => ({
          ...row,
          cost_nano_usd: row.cost_nano_usd && Number(row.cost_nano_usd),
        }))
      }
      const database = new DatabaseSync(join(folder.path, 'a', 'gateway.db'), { timeout: 5000 })
      const found = database.prepare(text).all() as Row[]
      database.close()
      return found
    }
    /** How often the vendors were asked for each prompt. */
    const bought = () => {
      const prompts = [
        ...alibaba.calls.map(({ body }) => (body as { input: { prompt: string } }).input.prompt),
        ...bytedance.calls.map(({ body }) => (body as { prompt: string }).prompt),
      ]
      return new Map([...Map.groupBy(prompts, (one) => one)].map(([one, all]) => [one, all.length]))
    }

    before(async function () {
      this.timeout(3_600_000)
      if (kind === 'postgres') {
        programPath('postgres', this)
        programPath('swift-proxy-server', this)
      }
      folder = makeFolder()
      ;[alibaba, bytedance] = [await startAlibabaDouble(), await startBytedanceDouble()]
      alibaba.workFor(1)
      bytedance.delayBy(() => chance.below(2000))
      variables = {
        DASHSCOPE_API_KEY: alibabaKey,
        DASHSCOPE_BASE_URL: alibaba.url,
        ARK_API_KEY: bytedanceKey,
        ARK_BASE_URL: bytedance.url,
        LOG_LEVEL: 'silent',
      }
      if (kind === 'postgres') {
        bucket = await startBucket()
        Object.assign(variables, bucket.variables, {
          DATABASE_URL: await (await sharedPostgres()).createDatabase(),
          ENCRYPTION_KEY: randomBytes(32).toString('base64'),
        })
      }
      const names = kind === 'sqlite' ? ['a'] : ['a', 'b']
      servers = await Promise.all(names.map(start))
      const { stdout } = await runCommand(['keys', 'create', '--mode', 'live', '--name', 'jobs'], {
        ...variables,
        DATA_DIR: join(folder.path, 'a'),
      })
      key = /mag_live_[\w-]+/.exec(stdout)![0]
      for (let round = 0; round < rounds; round++) {
        const victim = chance.below(servers.length)
        const asked = Array.from({ length: jobsPerRound }, (_, index) =>
          // A request whose connection is cut may have become a job too.
          post(
            servers[index % servers.length]!,
            `Picture ${round} ${index}`,
            models[chance.below(2)]!,
          ).catch(() => undefined),
        )
        const killed = new Promise((resolve) => setTimeout(resolve, chance.below(delayMsMax)))
        await killed
        servers[victim]!.kill('SIGKILL')
        await servers[victim]!.ended
        await Promise.all(asked)
        servers[victim] = await start(names[victim]!)
      }
      await until(
        'all jobs have ended',
        async () => {
          jobs = new Map((await list()).map((job) => [job.id, job]))
          return [...jobs.values()].every(
            ({ status }) => status === 'completed' || status === 'failed',
          )
        },
        180_000,
      )
      rows = await ledger()
    })
    after(async () => {
      for (const server of servers) server.kill('SIGTERM')
      await Promise.all(servers.map(({ ended }) => ended))
      await Promise.all([alibaba.stop(), bytedance.stop(), bucket?.stop()])
      folder.remove()
    })

    it('have no accepted job that is lost, and each has ended', async () => {
      expect(accepted.filter(({ id }) => !jobs.has(id))).to.deep.equal([])
      const statuses = Map.groupBy(jobs.values(), ({ status }) => status)
      process.stdout.write(
        `      ${jobs.size} jobs, ${accepted.length} accepted: ` +
          `${[...statuses].map(([status, all]) => `${all.length} ${status}`).join(', ')}; ` +
          `${alibaba.calls.length} tasks, ${bytedance.calls.length} calls (seed ${seed})\n`,
      )
      const messages: string[] = []
      for (const { id } of statuses.get('failed') ?? []) {
        const job = (await (await ask(servers[0]!, `${jobsPath}/${id}`)).json()) as Job
        messages.push(String(job.error?.message))
      }
      for (const [text, all] of Map.groupBy(messages, (one) => one))
        process.stdout.write(`      ${all.length} failed: ${text}\n`)
      expect(statuses.get('completed')).to.have.length.greaterThan(0)
    })

    it('buy no picture twice', () => {
      expect([...bought()].filter(([, times]) => times > 1)).to.deep.equal([])
    })

    it('lose no picture whose task was known', () => {
      const polled = new Set(alibaba.polls.flatMap(({ path }) => /task-[\w-]+/.exec(path) ?? []))
      const failed = [...jobs.values()].filter(
        ({ model, status }) => model === 'alibaba/qwen-image-plus' && status === 'failed',
      )
      const unknown = alibaba.tasks.size - polled.size
      process.stdout.write(
        `      ${polled.size} tasks were known, ${unknown} not; ${failed.length} of their jobs failed\n`,
      )
      // A job may also fail before its vendor is asked, or while it is asked.
      const done = [...jobs.values()].filter(
        ({ model, status }) => model === 'alibaba/qwen-image-plus' && status === 'completed',
      )
      expect(done).to.have.length(polled.size)
    })

    it('have the pictures of each completed job', async () => {
      for (const { id, status } of jobs.values()) {
        if (status !== 'completed') continue
        const response = await ask(servers[0]!, `${jobsPath}/${id}?include=b64_json`)
        const { result } = (await response.json()) as Job
        expect(result!.data[0]!.b64_json, id).to.have.length.greaterThan(100)
      }
    })

    it('have one row for each picture that a vendor was asked for', () => {
      const byId = Map.groupBy(rows, ({ id }) => id)
      expect([...byId].filter(([, all]) => all.length > 1)).to.deep.equal([])
      for (const { id, status } of jobs.values()) {
        const [row] = byId.get(id.replace('imgjob', 'req')) ?? []
        if (status !== 'completed') continue
        expect(row, id).to.include({ outcome: 'ok' })
        expect(row!.cost_nano_usd).to.equal(pricesNanoUsd[row!.model])
      }
      const asked = bought().size
      const outcomes = [...Map.groupBy(rows, ({ outcome }) => outcome)]
      process.stdout.write(
        `      ${asked} pictures asked for, ${rows.length} rows: ` +
          `${outcomes.map(([outcome, all]) => `${all.length} ${outcome}`).join(', ')}\n`,
      )
      expect(rows.length).to.be.at.least(asked)
      // A process may be killed after it has stored that it will ask, and before it asks.
      const failed = [...jobs.values()].filter(({ status }) => status === 'failed')
      expect(rows.length).to.be.at.most(asked + failed.length)
    })
  })
}
