import { accessSync, constants, copyFileSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemReason } from '../core/words/system-reason.ts'
import { unlessGone } from './folder.ts'
import { isJournal } from './journal.ts'
import { logDamage } from './log-damage.ts'
import { applicationId } from './migrations.ts'
import { cannotOpen, StoreError, toStoreError } from './store-error.ts'

type Options = {
  path: string
  /** Larger files are not checked, since that takes as long as reading them. */
  checkBytesMax: number
  damagedCopiesMax: number
  busyTimeoutMs: number
  /** Gets the names of the migrations that ran. Throws a StoreError for a store not to be opened. */
  assertSchema: (ran: readonly string[]) => void
}

const lookPauseMs = 20
const restore = 'Put a copy in its place'

/**
 * Looks at the files of a store before they are opened to be written: SQLite drops what it cannot read
 * of a log without a word. Such files are copied first, into `damaged-<time>`. Resolves with what the
 * operator should know; throws a StoreError for files that cannot be the store's, and changes none.
 */
export async function examine(options: Options): Promise<string[]> {
  const { path, checkBytesMax } = options
  const size = sizeOf(path)
  if (size === 0) {
    options.assertSchema([])
    return []
  }
  const damage = await lastingDamage(`${path}-wal`, checkBytesMax)
  const isChecked = checkFile(options, size)
  const told = isChecked ? [] : [`${path} was not checked, since it has ${size} bytes.`]
  if (damage === undefined) return told
  const folder = copyFiles(options, damage)
  return [
    ...told,
    `The store ${path} was not whole: ${damage}. Its files, as they were, are in ${folder}.`,
  ]
}

/** The size of the file, 0 when there is none yet. Throws a StoreError. */
function sizeOf(path: string): number {
  // Before the file: another process that makes the store meanwhile fills the file first.
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  const hasMore = log > 0 || readdirSync(dirname(path)).some(isJournal)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory() === true) throw refusal(path, 'it is a folder', 'Move it away')
  const size = found?.size ?? 0
  if (size === 0 && (found === undefined ? log === 0 : !hasMore)) return 0
  const what = found === undefined ? 'it is not there, but its log is' : 'it is empty'
  if (size === 0) throw refusal(path, what, `${restore}, or move its log and journals away too`)
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
  } catch (error) {
    throw refusal(path, systemReason(error), 'Give this user the right to read and write it')
  }
  return size
}

/** A process that writes at the moment makes a sound log look damaged, but not for long. */
async function lastingDamage(path: string, bytesMax: number): Promise<string | undefined> {
  for (let look = 1; ; look++) {
    const damage = logDamage(path, bytesMax)
    if (damage === undefined || look === 3) return damage
    await sleep(lookPauseMs)
  }
}

/** Whether the file was checked as a whole. Throws a StoreError. */
function checkFile(options: Options, size: number): boolean {
  const { path, checkBytesMax, busyTimeoutMs, assertSchema } = options
  let database: DatabaseSync | undefined
  try {
    // Without the right to write it moves nothing out of the log.
    database = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs })
    const one = (sql: string) => Object.values(database!.prepare(sql).get() ?? {})[0]
    const id = one('PRAGMA application_id')
    const tables = one('SELECT count(*) FROM sqlite_schema')
    const isOurs = one("SELECT count(*) FROM sqlite_schema WHERE name = 'kysely_migration'") === 1
    if ((id !== 0 && id !== applicationId) || (tables !== 0 && !isOurs)) {
      throw refusal(path, 'it is the file of another program', 'Move it away')
    }
    const ran = isOurs ? database.prepare('SELECT name FROM kysely_migration').all() : []
    assertSchema(ran.map(({ name }) => String(name)))
    if (size > checkBytesMax) return false
    const found = one('PRAGMA quick_check(1)')
    if (found === 'ok') return true
    throw refusal(path, `it is damaged (${String(found).replaceAll(/\s+/g, ' ')})`, restore)
  } catch (thrown) {
    const error = toStoreError(thrown)
    throw error.errcode === undefined ? error : cannotOpen(path, error)
  } finally {
    database?.close()
  }
}

function refusal(path: string, reason: string, remedy: string): StoreError {
  return new StoreError(
    `The store ${path} cannot be opened: ${reason}. ${remedy}, or set DATA_DIR to another folder.`,
  )
}

/** Copies the files of the store and gives the folder. Throws a StoreError. */
function copyFiles({ path, damagedCopiesMax }: Options, damage: string): string {
  const parent = dirname(path)
  const copies = readdirSync(parent).filter((name) => name.startsWith('damaged-'))
  if (copies.length >= damagedCopiesMax) {
    const reason = `${damage}, and ${copies.length} copies of damaged files are there already`
    throw refusal(path, reason, `Move the folders damaged-* out of ${parent}`)
  }
  const folder = join(parent, `damaged-${new Date().toISOString().replaceAll(':', '-')}`)
  try {
    mkdirSync(folder, { mode: 0o700 })
    for (const suffix of ['', '-wal', '-shm']) {
      unlessGone(() => {
        copyFileSync(path + suffix, join(folder, `gateway.db${suffix}`), constants.COPYFILE_FICLONE)
      })
    }
    return folder
  } catch (error) {
    const reason = `${damage}, and its files cannot be copied: ${systemReason(error)}`
    throw refusal(path, reason, 'Make room for a copy')
  }
}
