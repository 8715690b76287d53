import { accessSync, constants, readdirSync, rmSync, statSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemReason } from '../core/words/system-reason.ts'
import { isJournal } from './journal.ts'
import { applicationId } from './migrations.ts'
import type { FileOptions } from './sqlite-file.ts'
import { startThread } from './sqlite-thread.ts'
import { cannotOpen, StoreError, toStoreError } from './store-error.ts'

/** Suffix of the file that marks a damaged store; it holds the result of the check. */
export const damageSuffix = '-damaged'

const restore = 'Restore a backup'

/**
 * Throws a StoreError unless the file is missing, or is a store of this gateway that this user may
 * write. Changes nothing. `assertSchema` receives the names of the migrations that ran.
 */
export function assertOpenable(
  path: string,
  busyTimeoutMs: number,
  assertSchema: (ran: readonly string[]) => unknown,
): void {
  if (!exists(path)) return void assertSchema([])
  let database: DatabaseSync | undefined
  try {
    // The connection is read-only, since closing it must not checkpoint the log.
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
  } catch (thrown) {
    const error = toStoreError(thrown)
    throw error.errcode === undefined ? error : cannotOpen(path, error)
  } finally {
    database?.close()
  }
}

/** Whether the file has content. Throws a StoreError if it is empty or missing while its log exists. */
function exists(path: string): boolean {
  // Checked before the file: a process that creates the store at this moment fills the file first.
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  const hasMore = log > 0 || readdirSync(dirname(path)).some(isJournal)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory() === true) throw refusal(path, 'it is a folder', 'Move it away')
  const size = found?.size ?? 0
  if (size === 0 && (found === undefined ? log === 0 : !hasMore)) return false
  const what = found === undefined ? 'it is missing, but its log exists' : 'it is empty'
  if (size === 0) throw refusal(path, what, `${restore}, or move its log and journals away too`)
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
  } catch (error) {
    throw refusal(path, systemReason(error), 'Give this user the right to read and write it')
  }
  return true
}

function refusal(path: string, reason: string, remedy: string): StoreError {
  return new StoreError(
    `The store ${path} cannot be opened: ${reason}. ${remedy}, or set DATA_DIR to another folder.`,
  )
}

const suffixes = ['', '-wal', '-shm']

/**
 * Records the identity of the files; call it right after they were opened. `isNew` means that this process
 * created them.
 */
export async function watchFiles(file: FileOptions, isNew: boolean) {
  const { path } = file
  const mark = path + damageSuffix
  const opened = await Promise.all(suffixes.map((suffix) => idOf(path + suffix)))
  const closed = new AbortController()
  let found: string | undefined
  return {
    /**
     * Throws a StoreError if the files at the path are not the opened ones, or if damage was found:
     * SQLite itself goes on writing to a file that was deleted or moved.
     */
    look: async () => {
      const now = await Promise.all(suffixes.map((suffix) => idOf(path + suffix)))
      const changed = suffixes.find((_suffix, index) => now[index] !== opened[index])
      if (changed !== undefined) throw movedAway(path, changed)
      // Another process of the gateway may have found the damage.
      const damage = found ?? (await textOf(mark))
      if (damage !== undefined) throw damaged(damage)
    },
    /**
     * Checks the whole file, unless it is new, in a thread. Copies a damaged one; `look` then throws.
     */
    check: async () => {
      const damage = isNew ? undefined : await damageOf(file, closed.signal)
      if (damage === undefined) return rmSync(mark, { force: true })
      found = await textOf(mark)
      // An earlier start has copied the files already.
      if (found !== undefined) return
      found = damage
      found = `${damage}; ${await copyAside(path)}`
      // On a full disk the mark is not written, so only this process reports the damage.
      await writeFile(mark, found, { mode: 0o600 }).catch(() => undefined)
    },
    /** Aborts a running check. */
    close: () => closed.abort(),
  }
}

async function idOf(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined)
  return found && `${found.dev} ${found.ino}`
}

/** SQLite's description of the damage; undefined for an intact file. Throws a StoreError. */
async function damageOf(file: FileOptions, ended: AbortSignal): Promise<string | undefined> {
  const thread = startThread({ ...file, readOnly: true })
  const stop = () => void thread.stop()
  ended.addEventListener('abort', stop)
  const sql = 'PRAGMA quick_check(1)'
  try {
    const { rows } = await thread.ask({ kind: 'query', sql, parameters: [] })
    // The pragma returns one row with one text.
    const found = String(Object.values(rows[0] as object)[0])
    return found === 'ok' ? undefined : found.replaceAll(/\s+/g, ' ')
  } catch (thrown) {
    const error = toStoreError(thrown)
    if (error.isDamage) return error.message
    throw error
  } finally {
    ended.removeEventListener('abort', stop)
    stop()
  }
}

function textOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined)
}

/** Maximum of copies, since each copy is as large as the store. */
const damagedCopiesMax = 5

/** Copies the files of a damaged store before further writes; returns the outcome as text. */
async function copyAside(path: string): Promise<string> {
  const parent = dirname(path)
  const folder = join(parent, `damaged-${new Date().toISOString().replaceAll(':', '-')}`)
  try {
    const copies = (await readdir(parent)).filter((name) => name.startsWith('damaged-'))
    if (copies.length >= damagedCopiesMax)
      return `not copied, since ${copies.length} folders damaged-* exist`
    await mkdir(folder, { mode: 0o700 })
    for (const suffix of suffixes) {
      const copy = join(folder, basename(path) + suffix)
      // The log may be gone: the last process that closes the store removes it.
      await copyFile(path + suffix, copy, constants.COPYFILE_FICLONE).catch(unlessMissing)
    }
    return `copied to ${folder}`
  } catch (error) {
    return `not copied: ${systemReason(error)}`
  }
}

function unlessMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

function movedAway(path: string, suffix: string): StoreError {
  return new StoreError(`${path}${suffix} was moved, deleted or replaced`, undefined, {
    remedy: `Put the files back into ${dirname(path)} as they were, or restart the gateway.`,
  })
}

function damaged(found: string): StoreError {
  return new StoreError(`The store is damaged (${found})`, undefined, {
    remedy: 'Stop the gateway, restore a backup, and start it again.',
  })
}
