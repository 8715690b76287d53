import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { makeFolder } from '../../test/support/folder.ts'
import { ownKey, ownProvider } from '../../test/support/own-endpoint.ts'
import { runProgram } from '../../test/support/program.ts'
import { startPostgres, type TestPostgres } from '../../test/support/servers/postgres.ts'
import { startRedis, type TestRedis } from '../../test/support/servers/redis.ts'
import { startServer, type ServerProcess } from '../../test/support/server-process.ts'
import { startUpstream, type Upstream } from '../../test/support/upstream.ts'
import { freePort } from '../free-port.ts'

/** A gateway that can be restarted with the same port and folder. */
export type Replica = {
  url: string
  /** The id of the process, or of the primary process of its workers. */
  processId(): number
  kill(signal: NodeJS.Signals): void
  /** The log since the last start. */
  stderr(): string
  /** Waits until the gateway has ended, and starts the gateway again. */
  restart(): Promise<void>
}

/** Gateways that share a PostgreSQL, a Redis and a vendor. */
export type Fleet = {
  replicas: readonly Replica[]
  postgres: TestPostgres
  redis: TestRedis
  upstream: Upstream
  databaseUrl: string
  /** Makes a live key by `keys create` with these further arguments. */
  createKey(words: readonly string[]): Promise<string>
  stop(): Promise<void>
}

const settings = (upstream: Upstream, limits: object) => ({
  providers: [ownProvider('own', upstream)],
  routes: { 'gpt-5-mini': ['own/house-1'] },
  limits: {
    route_tries_max: 1,
    requests_per_minute: 1_000_000,
    ...limits,
  },
})

type Options = {
  workers: boolean
  /** The `limits` of gateway.yaml. */
  limits?: object
}

/**
 * Starts two gateways, or one gateway with two workers.
 *
 * @example
 * const fleet = await startFleet({ workers: false })
 * const key = await fleet.createKey(['--budget-usd', '1', '--budget-period', 'total'])
 */
export async function startFleet({ workers, limits = {} }: Options): Promise<Fleet> {
  const folder = makeFolder()
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()])
  const upstream = await startUpstream()
  const databaseUrl = await postgres.createDatabase()
  const configFile = join(folder.path, 'gateway.yaml')
  writeFileSync(configFile, stringify(settings(upstream, limits)))
  const variables = {
    CONFIG_FILE: configFile,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redis.url,
    OWN_API_KEY: ownKey,
    LOG_LEVEL: 'warn',
    ...(workers && { WORKERS: '2' }),
  }
  const replicas: (Replica & { stop(): Promise<void> })[] = []
  for (const name of workers ? ['one'] : ['one', 'two']) {
    replicas.push(await startReplica(join(folder.path, name), variables))
  }
  const createKey: Fleet['createKey'] = async (words) => {
    const create = ['keys', 'create', '--mode', 'live', '--name', 'fleet', ...words]
    const { stdout, stderr } = await runProgram('src/command-line.ts', create, {
      folder: folder.path,
      variables: { ...variables, DATA_DIR: join(folder.path, 'command') },
    })
    const [key] = /mag_live_[\w-]+/.exec(stdout) ?? []
    if (key === undefined) throw new Error(`No key was made: ${stderr}`)
    return key
  }
  return {
    replicas,
    postgres,
    redis,
    upstream,
    databaseUrl,
    createKey,
    stop: async () => {
      await Promise.all(replicas.map((replica) => replica.stop()))
      await Promise.all([postgres.stop(), redis.stop(), upstream.stop()])
      folder.remove()
    },
  }
}

async function startReplica(
  dataDir: string,
  variables: Readonly<Record<string, string>>,
): Promise<Replica & { stop(): Promise<void> }> {
  const port = await freePort()
  const start = (): Promise<ServerProcess> =>
    startServer({
      folder: join(dataDir, '..'),
      variables: { ...variables, DATA_DIR: dataDir, PORT: String(port) },
    })
  let server = await start()
  return {
    url: server.url,
    processId: () => server.processId,
    kill: (signal) => server.kill(signal),
    stderr: () => server.stderr(),
    restart: async () => {
      await server.ended
      server = await start()
    },
    stop: async () => {
      server.kill('SIGTERM')
      await server.ended
    },
  }
}
