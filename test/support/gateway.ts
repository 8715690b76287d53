import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import type { SignInResult } from '../../src/accounts/sign-in.ts'
import { assemble } from '../../src/assemble.ts'
import { digestOf } from '../../src/accounts/api-key.ts'
import type { Bounds } from '../../src/settings/bounds.ts'
import {
  loadConfig,
  type ReadSettings,
  setFontConfiguration,
  type Variables,
} from '../../src/settings/config.ts'
import type { Mode } from '../../src/core/caller.ts'
import type { BoundTool } from '../../src/mcp/tool.ts'
import type { PublicNet } from '../../src/pictures/guarded-fetch.ts'
import { fontConfigurationFile } from '../../src/providers/sandbox/font-configuration.ts'
import type { Store } from '../../src/storage/store.ts'
import type { AllowanceColumns, UsageTable } from '../../src/storage/tables.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { checkedFetch } from './checked-fetch.ts'
import { accountRow } from './callers.ts'
import { databaseOf } from './each-store.ts'
import { makeFolder } from './folder.ts'
import { createTestPeople, type TestPeople } from './people.ts'
import { revokeStoredKeys, storeKey, type StoredKey } from './keys.ts'

export type GatewayOptions = {
  variables?: Variables
  /** Content of gateway.yaml. */
  file?: { limits?: object; [setting: string]: unknown }
  bounds?: Partial<Bounds>
  clock?: () => number
  /** Monotonic clock; by default it advances with `clock`. */
  monotonic?: () => number
  /** Waits between retries; a test can replace it to count them without waiting. */
  sleep?: (delayMs: number, signal: AbortSignal) => Promise<void>
  random?: () => number
  /** Replaces DNS and connections to the internet. */
  publicNet?: PublicNet
  moreTools?: readonly BoundTool[]
  /** Another gateway, whose store this gateway shares as a second process would. */
  beside?: Pick<TestGateway, 'dataDir'> | undefined
  redisUrl?: string | undefined
}

/** Options of `fetch`; `key` replaces the test key, null sends none. */
export type CallOptions = Omit<RequestInit, 'headers'> & {
  headers?: Record<string, string>
  key?: string | null
}

type KeyOptions = StoredKey & { accountId?: string }

/** A real gateway on a free loopback port, with its own store. */
export type TestGateway = {
  url: string
  dataDir: string
  testKey: string
  liveKey: string
  /** A key with all scopes. */
  adminKey: string
  createKey(mode: Mode, options?: KeyOptions): Promise<string>
  /** Creates a further account, for `createKey`. Returns its id. */
  createAccount(): Promise<string>
  /** This gateway with the keys and the ledger of a new account, so that tests can share it. */
  inNewAccount(): Promise<TestGateway>
  /** Sets limits and budget of a key, or of the account. */
  allow(columns: Partial<AllowanceColumns>, key?: string): Promise<void>
  revokeKeys(): Promise<void>
  /** The database of the gateway's store. */
  db: Store['db']
  /** People who sign in. */
  people: TestPeople
  /** Creates an owner with a one-time link, as POST /api/setup does. */
  setUp(person: {
    token: string
    email: string
    name: string
    password: string
  }): Promise<SignInResult>
  /** Rows of the ledger, oldest first. */
  usage(): Promise<UsageTable[]>
  /** Adds rows to the ledger, as if calls had been made. */
  addUsage(rows: readonly UsageTable[]): Promise<void>
  /** All log lines so far. */
  logText(): string
  fetch(path: string, init?: CallOptions): Promise<Response>
  /** Posts JSON, by default with the test key. */
  post(path: string, body: unknown, init?: CallOptions): Promise<Response>
  /** Overwrites gateway.yaml, with a string for invalid YAML, and sets variables as `.env` would. */
  rewrite(file: GatewayOptions['file'] | string, variables?: Variables): void
  /** Reloads the settings as an operator, after `rewrite` with these arguments. */
  reload(file?: GatewayOptions['file'] | string, variables?: Variables): Promise<Response>
  /** Sends clients of the MCP server the notification that follows a reload of the catalog. */
  announceToolsChanged(): void
  /** Drains the server as SIGTERM does; the ledger stays readable. */
  drain(): Promise<void>
  stop(): Promise<void>
  /** Stops the gateway at the end of a test, with `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

type OfAccount = Pick<
  TestGateway,
  | 'testKey'
  | 'liveKey'
  | 'adminKey'
  | 'people'
  | 'createKey'
  | 'allow'
  | 'fetch'
  | 'post'
  | 'reload'
>

/** A monotonic clock that follows `clock`, and stands still when a test sets it back. */
function onlyForward(clock: () => number): () => number {
  let seen = clock()
  let elapsed = seen
  return () => {
    const now = clock()
    elapsed += Math.max(0, now - seen)
    seen = now
    return elapsed
  }
}

/** Encrypts the stored keys of providers in tests. */
export const encryptionKey = Buffer.alloc(32, 'test').toString('base64')

// A fixed date: retirements of models and prices depend on the clock.
const today = Date.parse('2026-11-22T12:00:00Z') - performance.now()

/** The current time in tests: 2026-11-22, 12:00 UTC, plus the time since the start of the process. */
export const suiteClock = (): number => Math.floor(today + performance.now())

// Drains without a notice period, so that tests do not wait.
const quickDrain = { drain_notice_ms: 0, drain_quiet_ms: 0 }
// Fast password hashes.
const quickHashes = { passwordMemoryKib: 1024 }
// Address of people who sign in without a test's request.
const elsewhere = { address: '203.0.113.7', origin: '203.0.113.7', userAgent: null }

/**
 * Starts a gateway in this process, with settings from variables and gateway.yaml.
 *
 * @example
 * await using gateway = await startGateway({ file: { limits: { requests_per_minute: 1 } } })
 * const body = { model: 'gpt-5.4-mini', messages: [{ role: 'user', content: 'Hello.' }] }
 * expect((await gateway.post('/v1/chat/completions', body)).status).to.equal(200)
 * expect((await gateway.usage())[0]?.mode).to.equal('test')
 */
export async function startGateway(options: GatewayOptions = {}): Promise<TestGateway> {
  const { path: folder, remove } = makeFolder()
  const configFile = join(folder, 'gateway.yaml')
  const { beside, redisUrl } = options
  const databaseUrl = await databaseOf(beside === undefined ? folder : dirname(beside.dataDir))
  const variables: Record<string, string | undefined> = {
    SIGN_UP: 'open',
    DATABASE_URL: databaseUrl,
    ENCRYPTION_KEY: encryptionKey,
    // Closed port: no test of a key may reach the vendor.
    CEREBRAS_BASE_URL: 'http://127.0.0.1:9',
  }
  const rewrite: TestGateway['rewrite'] = (settings = {}, more = {}) => {
    Object.assign(variables, more)
    if (typeof settings === 'string') return writeFileSync(configFile, settings)
    const { limits = {}, ...file } = settings
    writeFileSync(configFile, stringify({ ...file, limits: { ...quickDrain, ...limits } }))
  }
  rewrite(options.file, options.variables)
  const dataDir = beside?.dataDir ?? join(folder, 'data')
  const readSettings: ReadSettings = (stored) => {
    const sources = { DATA_DIR: dataDir, CONFIG_FILE: configFile, REDIS_URL: redisUrl }
    const read = loadConfig({ ...sources, ...variables }, stored)
    const limits = { ...read.config.limits, ...quickHashes, ...options.bounds }
    return { ...read, config: { ...read.config, limits } }
  }
  const { config, secrets } = readSettings()
  setFontConfiguration(fontConfigurationFile)
  const lines: string[] = []
  const log = createLog({ logLevel: 'debug', logFormat: 'json' }, null, {
    write: (line) => void lines.push(line),
  })
  const { clock = suiteClock, sleep, random } = options
  const monotonic = options.monotonic ?? (options.clock && onlyForward(options.clock))
  const { publicNet = {}, moreTools = [] } = options
  const { server, accounts, people, store, toolServer, close } = await assemble({
    config,
    secrets,
    log,
    readSettings,
    clock,
    moreTools,
    publicNet,
    ...(monotonic === undefined ? {} : { monotonic }),
    ...(sleep === undefined ? {} : { sleep }),
    ...(random === undefined ? {} : { random }),
  })
  const port = await server.listen(0, '127.0.0.1')
  const url = `http://127.0.0.1:${port}`
  const stop = async () => {
    await server.drain()
    await close()
    remove()
  }
  const createAccount = async () => {
    const id = `acc_${randomUUID()}`
    await store.db.insertInto('accounts').values(accountRow(id, 'other')).execute()
    return id
  }
  const usageOf = (id?: string) => {
    const rows = store.db.selectFrom('usage').selectAll().orderBy('at')
    return (id === undefined ? rows : rows.where('account_id', '=', id)).execute()
  }
  const gateway: Omit<TestGateway, keyof OfAccount> = {
    url,
    dataDir,
    setUp: (person) => people.signIns.setUp(person, elsewhere),
    createAccount,
    inNewAccount: async () => {
      const id = await createAccount()
      return { ...gateway, ...(await withKeys(id)), usage: () => usageOf(id) }
    },
    db: store.db,
    revokeKeys: () => revokeStoredKeys(store, clock()),
    usage: () => usageOf(),
    addUsage: async (rows) => {
      await store.commit(store.insertions('usage', rows))
    },
    logText: () => {
      log.settle()
      return lines.join('')
    },
    rewrite,
    announceToolsChanged: toolServer.announceToolsChanged,
    drain: () => server.drain(),
    stop,
    [Symbol.asyncDispose]: stop,
  }
  const withKeys = async (accountId: string): Promise<OfAccount> => {
    const createKey: TestGateway['createKey'] = (mode, more = {}) =>
      storeKey(store, { accountId: more.accountId ?? accountId, mode, now: clock() }, more)
    const allow: TestGateway['allow'] = async (columns, key) => {
      const change =
        key === undefined
          ? store.db.updateTable('accounts').set(columns).where('id', '=', accountId)
          : store.db.updateTable('api_keys').set(columns).where('digest', '=', digestOf(key))
      await change.execute()
    }
    const testKey = await createKey('test')
    const liveKey = await createKey('live')
    const adminKey = await createKey('test', { scopes: ['inference', 'admin'] })
    const call: TestGateway['fetch'] = (path, { key = testKey, headers, ...init } = {}) =>
      checkedFetch(url + path, {
        ...init,
        headers: { ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...headers },
      })
    return {
      testKey,
      liveKey,
      adminKey,
      people: createTestPeople(store, people, accountId),
      createKey,
      allow,
      fetch: call,
      post: (path, body, { headers, ...init } = {}) =>
        call(path, {
          method: 'POST',
          body: JSON.stringify(body),
          ...init,
          headers: { 'content-type': 'application/json', ...headers },
        }),
      reload: (...settings) => {
        if (settings.length > 0) rewrite(...settings)
        return call('/api/reload', { method: 'POST', key: adminKey })
      },
    }
  }
  return { ...gateway, ...(await withKeys((await accounts.first()).id)) }
}
