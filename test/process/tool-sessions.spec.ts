import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { stringify } from 'yaml'
import { runCommand } from '../support/command-line.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { connectSession, type ClientSession } from '../support/mcp-client.ts'
import { countLeft } from '../support/metric.ts'
import { ownProvider } from '../support/own-endpoint.ts'
import { cancelInTurn } from '../support/same-ids.ts'
import { startServer, type ServerProcess } from '../support/server-process.ts'
import { programPath } from '../support/program-path.ts'
import { sharedPostgres } from '../support/servers/postgres.ts'
import { startRedis, type TestRedis } from '../support/servers/redis.ts'
import { until } from '../support/until.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { workersOf, workerVariables } from '../support/worker-processes.ts'

const rounds = 8

describe('two tool clients with one key and the same request ids', () => {
  let folder: TemporaryFolder
  let upstream: Upstream
  let redis: TestRedis | undefined
  let servers: ServerProcess[]
  let variables: Record<string, string>
  beforeEach(async () => {
    folder = makeFolder()
    servers = []
    upstream = await startUpstream()
    const file = join(folder.path, 'gateway.yaml')
    writeFileSync(file, stringify({ providers: [ownProvider('own', upstream)] }))
    variables = { CONFIG_FILE: file, OWN_API_KEY: 'sk-own', LOG_LEVEL: 'info' }
  })
  afterEach(async () => {
    for (const server of servers) {
      server.kill('SIGKILL')
      await server.ended
    }
    await redis?.stop()
    await upstream.stop()
    folder.remove()
  })

  const start = async (name: string, more: Record<string, string> = {}) => {
    const own = { ...variables, ...more, DATA_DIR: join(folder.path, name) }
    const server = await startServer({ folder: folder.path, variables: own })
    servers.push(server)
    return server
  }
  const liveKey = async () => {
    const words = ['keys', 'create', '--mode', 'live', '--name', 'x']
    const own = { ...variables, DATA_DIR: join(folder.path, 'a') }
    const { code, stdout, stderr } = await runCommand(words, own)
    expect(code, stderr).to.equal(0)
    return /mag_live_[\w-]+/.exec(stdout)![0]
  }
  /** Sends each message on a new connection, to the servers in turn. */
  const connect = (key: string) => {
    let sent = 0
    return connectSession(servers[0]!, key, {
      fetch: (_url, init) => {
        const headers = new Headers(init?.headers)
        headers.set('connection', 'close')
        const { url } = servers[sent++ % servers.length]!
        return fetch(`${url}/mcp`, { ...init, headers })
      },
    })
  }
  const cancelOften = async () => {
    const key = await liveKey()
    const sessions: [ClientSession, ClientSession] = [await connect(key), await connect(key)]
    const measured = servers.map(({ url }) => ({ fetch: (path: string) => fetch(url + path) }))
    const left = await countLeft(...measured)
    for (let round = 0; round < rounds; round++) {
      await cancelInTurn(sessions, { left, upstream, round })
    }
    for (const { client } of sessions) await client.close()
  }

  it('cancel only their own calls over two workers', async function () {
    programPath('redis-server', this)
    const server = await start('a', await workerVariables())
    await until('both workers answer', () => workersOf(server).length === 2)
    await cancelOften()
  })

  it('cancel only their own calls over two replicas', async function () {
    programPath('redis-server', this)
    programPath('postgres', this)
    redis = await startRedis()
    variables['DATABASE_URL'] = await (await sharedPostgres()).createDatabase()
    variables['REDIS_URL'] = redis.url
    await start('a')
    await start('b')
    await cancelOften()
  })
})
