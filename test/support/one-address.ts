import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { freePort } from '../../scripts/free-port.ts'
import { nginxConfiguration } from './deploy/composed.ts'
import { runCommand } from './command-line.ts'
import { makeFolder } from './folder.ts'
import { printedKey, startServer, type ServerProcess } from './server-process.ts'
import { startNginx } from './servers/nginx.ts'
import { sharedPostgres } from './servers/postgres.ts'
import { startRedis } from './servers/redis.ts'
import { until } from './until.ts'
import { workersOf, workerVariables } from './worker-processes.ts'

type Door = { url: string }

/** Several gateway processes at one public address. */
export type OneAddress = {
  origin: string
  /** Two URLs for requests, which usually reach different processes. */
  doors: readonly [Door, Door]
  testKey: string
  adminKey: string
  /** Runs the command line on the same store. */
  run(...words: string[]): Promise<string>
  /** Stops one gateway as its operator does, and starts it again. */
  restart?(door: 0 | 1): Promise<void>
  stop(): Promise<void>
}

const settings = {
  trusted_proxies: ['127.0.0.1'],
  limits: {
    oauth_registrations_per_hour_max: 1000,
  },
}

type Processes = { words: Record<string, string>; folder: string }

async function madeKeys({ words, folder }: Processes, first: ServerProcess) {
  const run = async (...command: string[]) => {
    const variables = { DATA_DIR: join(folder, 'a'), ...words }
    const { code, stdout, stderr } = await runCommand(command, variables)
    if (code !== 0) throw new Error(stderr)
    return stdout.trim()
  }
  const admin = ['keys', 'create', '--mode', 'test', '--name', 'admin', '--scopes', 'admin']
  return { run, testKey: printedKey(first)!, adminKey: await run(...admin) }
}

/** Two gateways on one PostgreSQL and one Redis, behind nginx as configured in deploy/. */
export async function startReplicas(): Promise<OneAddress> {
  const temporary = makeFolder()
  const folder = temporary.path
  const redis = await startRedis()
  const ports = [await freePort(), await freePort()]
  const nginx = await startNginx((place) =>
    nginxConfiguration(
      place.port,
      place.folder,
      ports.map((port, index) => [`gateway-${index + 1}:8080`, `127.0.0.1:${port}`]),
    ),
  )
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, stringify(settings))
  const words = {
    CONFIG_FILE: file,
    DATABASE_URL: await (await sharedPostgres()).createDatabase(),
    REDIS_URL: redis.url,
    BASE_URL: nginx.url,
    CLIENT_DOCUMENTS: 'closed',
  }
  const start = (door: 0 | 1) =>
    startServer({
      folder,
      variables: { ...words, DATA_DIR: join(folder, 'ab'[door]!), PORT: String(ports[door]) },
    })
  const servers = [await start(0), await start(1)]
  const doors = ports.map((port) => ({ url: `http://127.0.0.1:${port}` }))
  return {
    origin: nginx.url,
    doors: [doors[0]!, doors[1]!],
    ...(await madeKeys({ words, folder }, servers[0]!)),
    restart: async (door) => {
      servers[door]!.kill('SIGTERM')
      await servers[door]!.ended
      servers[door] = await start(door)
    },
    stop: async () => {
      for (const server of servers) server.kill('SIGKILL')
      await Promise.all(servers.map(({ ended }) => ended))
      await Promise.all([nginx.stop(), redis.stop()])
      temporary.remove()
    },
  }
}

/** One gateway with two workers, on SQLite. */
export async function startWorkers(): Promise<OneAddress> {
  const temporary = makeFolder()
  const folder = temporary.path
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, stringify(settings))
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const words = { CONFIG_FILE: file, BASE_URL: origin, CLIENT_DOCUMENTS: 'closed' }
  const own = { DATA_DIR: join(folder, 'a'), PORT: String(port), ...(await workerVariables()) }
  const server = await startServer({ folder, variables: { ...words, ...own } })
  await until('both workers answer', () => workersOf(server).length === 2)
  return {
    origin,
    doors: [{ url: origin }, { url: origin }],
    ...(await madeKeys({ words, folder }, server)),
    stop: async () => {
      server.kill('SIGKILL')
      await server.ended
      temporary.remove()
    },
  }
}
