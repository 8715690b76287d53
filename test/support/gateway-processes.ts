import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { stringify } from 'yaml'
import { runCommand } from './command-line.ts'
import type { StoreKind } from './each-store.ts'
import { makeFolder } from './folder.ts'
import { hello, ownKey, ownProvider } from './own-endpoint.ts'
import { startServer, type ServerProcess } from './server-process.ts'
import { sharedPostgres } from './servers/postgres.ts'
import { startUpstream, type Upstream } from './upstream.ts'

type Row = Record<string, string | number | null>
type Options = {
  store?: StoreKind
  /** Additional variables of the gateways, and of the command that creates keys. */
  variables?: Readonly<Record<string, string>>
}

/** Gateways in separate processes, on one store and with the operator's own server as vendor. */
export type GatewayProcesses = {
  upstream: Upstream
  /** Path of the data folder with that name. */
  dataDir(name?: string): string
  /** Writes gateway.yaml with these additional settings. */
  writeSettings(more?: object): void
  /** Starts a gateway, with further variables; on SQLite all gateways have one data folder. */
  start(name?: string, more?: Readonly<Record<string, string>>): Promise<ServerProcess>
  /** Creates a live key by `keys create` with further arguments. */
  createKey(name: string, words?: readonly string[]): Promise<string>
  /** Calls gpt-5-mini and reads the answer to its end. */
  post(server: ServerProcess, key: string, more?: More): Promise<Response>
  /** The status of such a call, or 0 when the connection broke. */
  statusOf(server: ServerProcess, key: string, more?: More): Promise<number>
  /** Runs SQL in the store. */
  query(sql: string): Promise<Row[]>
  /** The numbers in the first row of a query; null counts as 0. */
  numbers(sql: string): Promise<Record<string, number>>
  stop(): Promise<void>
}
type More = { body?: object; headers?: Record<string, string> }

/** Output tokens of a call. */
export const outputTokens = 1000
/** Nearly the whole cost of a call is that of output tokens, at $2 per million. */
export const callNanoUsd = outputTokens * 2000
/** The counts that the vendor reports for a call. */
export const usage = {
  prompt_tokens: 9,
  completion_tokens: outputTokens,
  total_tokens: outputTokens + 9,
}

/**
 * Starts the operator's server and creates the database; gateways are started by the test.
 *
 * @example
 * const gateways = await prepareGateways({ store: 'postgres' })
 * const [a, b] = [await gateways.start('a'), await gateways.start('b')]
 * expect(await gateways.statusOf(a, await gateways.createKey('any'))).to.equal(200)
 */
export async function prepareGateways({
  store = 'sqlite',
  variables: more = {},
}: Options = {}): Promise<GatewayProcesses> {
  const folder = makeFolder()
  const upstream = await startUpstream()
  const servers: ServerProcess[] = []
  const url = store === 'sqlite' ? undefined : await (await sharedPostgres()).createDatabase()
  const client = url === undefined ? undefined : new pg.Client(url)
  await client?.connect()
  const configFile = join(folder.path, 'gateway.yaml')
  const dataDir = (name = 'data') => join(folder.path, name)
  const variables = (name?: string) => ({
    ...(url !== undefined && { DATABASE_URL: url }),
    DATA_DIR: dataDir(name),
    CONFIG_FILE: configFile,
    OWN_API_KEY: ownKey,
    LOG_LEVEL: 'silent',
    ...more,
  })
  const writeSettings = (others: object = {}) => {
    const limits = { route_tries_max: 1 }
    const routes = { 'gpt-5-mini': ['own/house-1'] }
    const file = { providers: [ownProvider('own', upstream)], routes, limits, ...others }
    writeFileSync(configFile, stringify(file))
  }
  writeSettings()
  const post: GatewayProcesses['post'] = async (server, key, { body, headers } = {}) => {
    const answer = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'cache-control': 'no-store',
        ...headers,
      },
      body: JSON.stringify({
        model: 'gpt-5-mini',
        messages: hello,
        max_completion_tokens: outputTokens,
        ...body,
      }),
    })
    await answer.text()
    return answer
  }
  const query = async (sql: string) =>
    client === undefined
      ? queryFile(join(dataDir(), 'gateway.db'), sql)
      : (await client.query<Row>(sql)).rows
  return {
    upstream,
    dataDir,
    writeSettings,
    start: async (name, others) => {
      const own = { ...variables(name), ...others }
      const server = await startServer({ folder: folder.path, variables: own })
      servers.push(server)
      return server
    },
    createKey: async (name, words = []) => {
      const create = ['keys', 'create', '--mode', 'live', '--name', name, ...words]
      const { stdout } = await runCommand(create, { ...variables(), WORKERS: '1' })
      return /mag_live_[\w-]+/.exec(stdout)![0]
    },
    post,
    statusOf: (server, key, sent) =>
      post(server, key, sent).then(
        ({ status }) => status,
        () => 0,
      ),
    query,
    numbers: async (sql) => {
      const [row = {}] = await query(sql)
      return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Number(value)]))
    },
    stop: async () => {
      await client?.end()
      for (const server of servers) server.kill('SIGKILL')
      await Promise.all(servers.map(({ ended }) => ended))
      await upstream.stop()
      folder.remove()
    },
  }
}

function queryFile(path: string, sql: string): Row[] {
  const database = new DatabaseSync(path, { timeout: 5000 })
  try {
    return database.prepare(sql).all() as Row[]
  } finally {
    database.close()
  }
}
