import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { Agent, fetch } from 'undici'
import { runCommand } from '../support/command-line.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { hello, ownKey, ownProvider } from '../support/own-endpoint.ts'
import { completion } from '../support/chat-answers.ts'
import { printedKey, startServer, type ServerProcess } from '../support/server-process.ts'
import { programPath } from '../support/program-path.ts'
import { sharedPostgres } from '../support/servers/postgres.ts'
import { startRedis } from '../support/servers/redis.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'
import { workersOf, workerVariables } from '../support/worker-processes.ts'

describe('limits of several processes', () => {
  let folder: TemporaryFolder
  let servers: ServerProcess[]
  let connections: Agent
  beforeEach(() => {
    connections = new Agent({ connections: 100 })
    folder = makeFolder()
    servers = []
  })
  afterEach(async () => {
    for (const server of servers) server.kill('SIGKILL')
    await connections.destroy()
    await Promise.all(servers.map(({ ended }) => ended))
    folder.remove()
  })

  const settingsFile = (settings: object): string => {
    const file = join(folder.path, 'gateway.yaml')
    writeFileSync(file, JSON.stringify(settings))
    return file
  }
  const start = async (variables: Record<string, string>, name = 'one') => {
    const own = join(folder.path, name)
    mkdirSync(own)
    const server = await startServer({ folder: own, variables })
    servers.push(server)
    return server
  }
  const startWorkers = async (settings: object) => {
    const file = settingsFile(settings)
    const more = { CONFIG_FILE: file, OWN_API_KEY: ownKey, ...(await workerVariables()) }
    const server = await start(more)
    await until('both workers answer', () => workersOf(server).length === 2)
    return server
  }
  const ask = async ({ url }: ServerProcess, key: string, body: object = {}) => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      dispatcher: connections,
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-5-mini', messages: hello, ...body }),
    })
    await answer.text()
    return answer.status
  }
  const counted = (statuses: readonly number[]) => ({
    answered: statuses.filter((status) => status === 200).length,
    refused: statuses.filter((status) => status === 429).length,
  })
  const rush = (count: number, key: string) =>
    Promise.all(Array.from({ length: count }, (_, at) => ask(servers[at % servers.length]!, key)))

  it('let exactly 500 of 2000 calls through two replicas with one Redis', async function () {
    programPath('postgres', this)
    programPath('redis-server', this)
    const redis = await startRedis()
    const limits = { requests_per_minute: 500, limits_timeout_ms: 5000 }
    const variables = {
      CONFIG_FILE: settingsFile({ limits }),
      DATABASE_URL: await (await sharedPostgres()).createDatabase(),
      REDIS_URL: redis.url,
    }
    try {
      const first = await start(variables)
      await start(variables, 'other')
      const statuses = await rush(2000, printedKey(first)!)
      expect(counted(statuses)).to.deep.equal({ answered: 500, refused: 1500 })
    } finally {
      await redis.stop()
    }
  })

  it('let exactly 500 of 2000 calls through two workers', async function () {
    programPath('redis-server', this)
    const limits = { requests_per_minute: 500, limits_timeout_ms: 5000 }
    const server = await startWorkers({ limits })
    const statuses = await rush(2000, printedKey(server)!)
    expect(counted(statuses)).to.deep.equal({ answered: 500, refused: 1500 })
  })

  it('release the concurrent calls of a killed worker after its entry expires', async function () {
    programPath('redis-server', this)
    const upstream = await startUpstream()
    upstream.answer({ headers: {}, pieces: [], hang: true })
    try {
      const server = await startWorkers({
        providers: [ownProvider('own', upstream)],
        limits: { concurrency: 2, route_tries_max: 1 },
      })
      const own = join(folder.path, 'one')
      const words = ['keys', 'create', '--mode', 'live', '--name', 'held']
      const { stdout } = await runCommand(words, { DATA_DIR: join(own, 'data') })
      const key = stdout.trim()
      const asks = (content: string) =>
        ask(server, key, { model: 'own/big', messages: [{ role: 'user', content }] })
      const held = ['one', 'two'].map((content) => asks(content).catch(() => 'cut'))
      await until('the provider has both requests', () => upstream.requests.length === 2)
      expect(await asks('three')).to.equal(429)
      upstream.answer(completion('Hi.'))
      for (const { pid } of workersOf(server)) {
        process.kill(pid, 'SIGKILL')
        await until('a new worker answers', () => {
          const pids = workersOf(server).map((one) => one.pid)
          return pids.length === 2 && !pids.includes(pid)
        })
      }
      expect(await Promise.all(held)).to.deep.equal(['cut', 'cut'])
      await until(
        'the concurrent calls are released',
        async () => (await asks('three')) === 200,
        30_000,
      )
    } finally {
      await upstream.stop()
    }
  })
})
