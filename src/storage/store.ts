import { join } from 'node:path'
import type { CompiledQuery, Kysely } from 'kysely'
import type { Reader } from './reader.ts'
import type { SqlDialect } from './sql-dialect.ts'
import type { Tables } from './tables.ts'

/** A statement for `commit`, from Kysely's `compile` or from `insertions`. */
export type StoreStatement = Pick<CompiledQuery, 'sql' | 'parameters'> & {
  /** Whether the statement may run again if the outcome of its first run is unknown. */
  repeatable?: boolean
}

/**
 * With `waits: false` a commit fails at once if another connection holds the lock. With `isLarge` the event loop is
 * not blocked for as long as the rows take to write.
 */
export type CommitOptions = { waits?: boolean; isLarge?: boolean }

/** With `unlessThere` rows whose key exists are skipped. */
export type InsertionOptions = { unlessThere?: boolean }

/** Shows the operator a sentence about the opened store; it contains no secrets. */
export type Notice = (sentence: string) => void

/** The relational store for all durable data. */
export type Store = {
  dialect: SqlDialect
  db: Kysely<Tables>
  /** Runs a step of the start, and repeats it while the store may still become available. Throws a StoreError. */
  starting<T>(run: () => Promise<T>): Promise<T>
  /** Statements that insert rows, which must have the same columns; compiled once per table. */
  insertions<Name extends keyof Tables>(
    table: Name,
    rows: readonly Tables[Name][],
    options?: InsertionOptions,
  ): readonly StoreStatement[]
  /**
   * Runs statements in one transaction; resolves when they are durable, with the number of rows that
   * each one changed. Throws a StoreError.
   */
  commit(statements: readonly StoreStatement[], options?: CommitOptions): Promise<readonly number[]>
  /** The number of queries and transactions that wait for a connection; SQLite has one. */
  waiting(): number
  /** For reports, which must not block other work of the store. */
  reader: Reader
  /** Kind and place of the store, for the operator; without secrets. */
  describe(): Promise<string>
  /**
   * Checks the whole store while it is in use, unless this process created it; if it is damaged, `look`
   * throws from then on.
   */
  check(): Promise<void>
  /** Throws a StoreError if the store is damaged, was moved or is read-only. */
  look(): Promise<void>
  close(): Promise<void>
}

/** The file of the embedded store in `dataDir`. */
export const storePath = (dataDir: string): string => join(dataDir, 'gateway.db')
