import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '../core/error.ts'
import { openJournal } from './journal.ts'
import { insertedLate, replay, type JournalRow } from './replay.ts'
import { StoreError, toStoreError } from './store-error.ts'
import type { Store } from './store.ts'
import type { Tables } from './tables.ts'

/** A store that tracks whether it can be written to (docs/storage.md#trouble). */
export type GuardedStore = Store & {
  /**
   * Resolves when the rows are durable, in store or journal. Throws a GatewayError if both fail.
   */
  insert<Name extends keyof Tables>(table: Name, rows: readonly Tables[Name][]): Promise<void>
  /** Runs work that needs the store itself, not the journal. Throws a GatewayError if the store fails. */
  decide<T>(run: () => Promise<T>): Promise<T>
  /** Throws a GatewayError if the last use of the store showed that it cannot be written to. */
  assertWritable(): void
  /** Writes a row; throws a GatewayError if that fails or takes too long. */
  checkWritable(): Promise<void>
  /** Whether the store accepted rows at its last use; it is checked every second. */
  isUp(): boolean
  /** The number of rows that wait in the journal of this process. */
  journalRows(): number
}

/** Events that are logged for the operator. */
export type StoreEvents = {
  storeFailed(diagnosis: StoreError['diagnosis'], error: StoreError): void
  /** Rows were moved from the journal into the store. */
  storeRecovered(rows: number): void
  rowRefused(row: object, error: StoreError): void
}

type Options = {
  store: Store
  config: {
    dataDir: string
    durability: 'normal' | 'full'
    limits: {
      ledgerJournalBytesMax: number
      ledgerRetryMaxMs: number
      storeCheckIntervalMs: number
    }
  }
  monotonic: () => number
  events: StoreEvents
}

const retryPauseMs = 50
/** A transaction of this size takes about ten milliseconds. */
const replayedRowsMax = 500
/** Time limit of the write check: health checks expect an answer within a few seconds. */
const writeCheckTimeoutMs = 2000
const writeCheckTrustedMs = 1000

/**
 * Guards a store: rows that cannot be inserted go to the journal, and are moved into the store when it
 * recovers. Every second the store is checked and the journal replayed.
 */
export async function guardStore({ store, config, monotonic, events }: Options) {
  const { dataDir: folder, durability, limits } = config
  const bytesMax = limits.ledgerJournalBytesMax
  const journal = await openJournal({ folder, bytesMax, flushes: durability === 'full' })
  const checkRow = () =>
    store.db
      .insertInto('write_checks')
      .values({ id: 'latest', at: Date.now() })
      .onConflict((one) => one.column('id').doUpdateSet((row) => ({ at: row.ref('excluded.at') })))
      .compile()
  const health = createHealth(events)
  const recover = async () => {
    await store.look()
    await store.commit([checkRow()], { waits: false })
    const rows = await replay({ store, journal, events, rowsMax: replayedRowsMax })
    await journal.look()
    health.recovered(rows)
  }
  const check = async () => {
    try {
      if (health.trouble() !== undefined) return await recover()
      await store.look()
      return await ((await journal.takeOver()) ? recover() : journal.look())
    } catch (error) {
      return health.fail(toStoreError(error))
    }
  }

  await recover().catch((error: unknown) => health.fail(toStoreError(error)))
  const stop = repeat(check, limits.storeCheckIntervalMs)
  const writable = shareForAWhile(monotonic, async () => {
    const written = await health.attempt(() =>
      within(writeCheckTimeoutMs, store.commit([checkRow()])),
    )
    if (written instanceof StoreError) throw unavailable()
  })
  const guarded: GuardedStore = {
    ...store,
    isUp: () => health.trouble() === undefined,
    journalRows: journal.rows,
    assertWritable: health.assertWell,
    checkWritable: async () => {
      health.assertWell()
      await writable()
    },
    decide: async (run) => {
      const decided = await health.attempt(run)
      if (decided instanceof StoreError) throw unavailable()
      return decided
    },
    insert: async (table, rows) => {
      const insert = () => insertRows(store, table, rows)
      const records = () => rows.map((row): JournalRow => [table, row])
      const until = monotonic() + limits.ledgerRetryMaxMs
      for (;;) {
        const failure = await health.attempt(insert)
        if (!(failure instanceof StoreError) || (await journal.append(records()))) return
        if (monotonic() >= until) throw unkept(failure)
        await sleep(retryPauseMs)
      }
    },
    close: async () => {
      await stop()
      if (health.trouble() !== undefined) await check()
      await journal.close()
      await store.close()
    },
  }
  return guarded
}

/** Inserts rows. A call whose process was presumed dead has a provisional row, which is replaced. */
async function insertRows<Name extends keyof Tables>(
  store: Store,
  table: Name,
  rows: readonly Tables[Name][],
): Promise<void> {
  let count = 0
  try {
    const changes = await store.commit(store.insertions(table, rows))
    for (const change of changes) count += change
  } catch (error) {
    if (table !== 'usage' || !toStoreError(error).concernsRow) throw error
  }
  // SQLite refuses a duplicate key, and PostgreSQL skips it.
  if (table === 'usage' && count < rows.length) await store.commit(insertedLate(store, table, rows))
}

/** Tracks whether the store works, from the result of its last use. */
function createHealth(events: StoreEvents) {
  let trouble: StoreError | undefined
  const fail = (error: StoreError) => {
    const isNews = trouble?.diagnosis.reason !== error.diagnosis.reason
    trouble = error
    if (isNews) events.storeFailed(error.diagnosis, error)
  }
  return {
    trouble: () => trouble,
    assertWell: () => {
      if (trouble !== undefined) throw unavailable()
    },
    fail,
    recovered: (rows: number) => {
      if (trouble !== undefined || rows > 0) events.storeRecovered(rows)
      trouble = undefined
    },
    /** Resolves with the StoreError if the store fails. Throws if the rows are invalid. */
    attempt: async <T>(run: () => Promise<T>): Promise<T | StoreError> => {
      if (trouble !== undefined) return trouble
      try {
        return await run()
      } catch (thrown) {
        const error = toStoreError(thrown)
        if (error.concernsRow) throw error
        fail(error)
        return error
      }
    },
  }
}

/** Runs a task periodically, never twice at once; the returned function stops it. */
function repeat(task: () => Promise<void>, intervalMs: number): () => Promise<void> {
  let running: Promise<void> | undefined
  const timer = setInterval(() => {
    running ??= task().finally(() => (running = undefined))
  }, intervalMs)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await running
  }
}

/** Shares one run of a task between concurrent callers, and its success with callers shortly after. */
function shareForAWhile(monotonic: () => number, task: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let trustedUntil = -Infinity
  return async () => {
    if (monotonic() < trustedUntil) return
    running ??= task().finally(() => (running = undefined))
    await running
    trustedUntil = monotonic() + writeCheckTrustedMs
  }
}

async function within<T>(timeoutMs: number, work: Promise<T>): Promise<void> {
  const ended = new AbortController()
  const late = sleep(timeoutMs, undefined, { signal: ended.signal, ref: false }).then(
    () => Promise.reject(new StoreError('The store does not answer in time.')),
    () => undefined,
  )
  await Promise.race([work, late]).finally(() => ended.abort())
}

const retryAfterSeconds = 5

/** The error has no cause, since the first failure was logged and many of these errors may follow. */
function unavailable(): GatewayError {
  const text =
    'The gateway cannot record calls at the moment and accepts none. Try again in a moment.'
  return new GatewayError('overloaded', text, { retryAfterSeconds })
}

function unkept(cause: StoreError): GatewayError {
  const text =
    'The gateway could not record this call, which therefore failed. Try again in a moment.'
  return new GatewayError('overloaded', text, { cause, retryAfterSeconds })
}
