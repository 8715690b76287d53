import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chownSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from '../../../scripts/free-port.ts'
import { pathOf } from '../../../scripts/test-servers/programs.ts'
import { programPath } from '../program-path.ts'
import { startDaemon, type Daemon } from './daemon.ts'

/** A temporary PostgreSQL server. */
export type TestPostgres = Daemon & {
  port: number
  /** Creates a database, empty or copied from a template, and returns its URL. */
  createDatabase(options?: { template?: string }): Promise<string>
  /** Starts the killed server again, with the same data and port. */
  restart(): Promise<void>
}

const superuser = 'gateway'

/** Starts a PostgreSQL server; `settings` are lines of postgresql.conf, `files` are written beside it. */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
  files: Readonly<Record<string, string>> = {},
): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-postgres-'))
  const user = unprivileged()
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const initialise = ['-D', data, '-U', superuser, '-A', 'trust', '-E', 'UTF8', '--no-sync']
  programPath('postgres')
  execFileSync(pathOf('initdb')!, [...initialise, '--locale=C.UTF-8'], {
    cwd: folder,
    stdio: 'pipe',
    ...user,
  })
  for (const [name, text] of Object.entries(files)) {
    const path = join(data, name)
    writeFileSync(path, text, { mode: 0o600 })
    if (user !== undefined) chownSync(path, user.uid, user.gid)
  }
  const port = await freePort()
  const all = { listen_addresses: '127.0.0.1', fsync: 'off', ...settings }
  const words = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const start = () =>
    startDaemon({
      program: 'postgres',
      words: ['-D', data, '-p', String(port), '-k', folder, ...words],
      ready: /ready to accept connections/,
      stopSignal: 'SIGQUIT',
      user,
      folder,
    })
  let daemon = await start()
  const url = (database: string) => `postgres://${superuser}@127.0.0.1:${port}/${database}`
  return {
    port,
    kill: (signal) => daemon.kill(signal),
    killAll: (signal) => daemon.killAll(signal),
    restart: async () => {
      await daemon.stop({ keepsFolder: true })
      daemon = await startAgain(start)
    },
    createDatabase: async ({ template = 'template1' } = {}) => {
      const name = `test_${randomUUID().replaceAll('-', '')}`
      const client = new pg.Client({ connectionString: url('postgres') })
      await client.connect()
      try {
        await client.query(`create database ${name} template ${template}`)
      } finally {
        await client.end()
      }
      return url(name)
    },
    stop: (options) => daemon.stop(options),
  }
}

/** Retries the start: processes of a killed server run on for a moment, and block a new server. */
async function startAgain(start: () => Promise<Daemon>): Promise<Daemon> {
  for (let left = 50; ; left--) {
    try {
      return await start()
    } catch (error) {
      if (left === 0) throw error
      await sleep(100)
    }
  }
}

let shared: Promise<TestPostgres> | undefined

/** PostgreSQL of this test process, for specs that neither stop nor configure the server. */
export function sharedPostgres(): Promise<TestPostgres> {
  shared ??= startPostgres()
  return shared
}

/** The user that PostgreSQL's package creates: PostgreSQL refuses to run as root. */
function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (kind: '-u' | '-g') =>
    Number(execFileSync('id', [kind, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}
