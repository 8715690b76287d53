import { join } from 'node:path'
import type { CompiledQuery, Kysely } from 'kysely'
import type { Reader } from './reader.ts'
import type { SqlDialect } from './sql-dialect.ts'
import type { Tables } from './tables.ts'

/** A statement for `commit`, compiled by Kysely or made by `insertions`. */
export type StoreStatement = Pick<CompiledQuery, 'sql' | 'parameters'> & {
  /** Whether it may run again where nobody knows whether it ran. */
  repeatable?: boolean
}

/** `waits: false` fails at once where another connection holds the lock. */
export type CommitOptions = { waits?: boolean }

/** `unlessThere`: a row whose key is there already is left as it is. */
export type InsertionOptions = { unlessThere?: boolean }

/** Told what the operator should know of a store that is opened, in a sentence without secrets. */
export type Notice = (sentence: string) => void

/** The relational store of everything that must not be lost. */
export type Store = {
  /** Whose SQL it speaks. */
  dialect: SqlDialect
  db: Kysely<Tables>
  /** Runs what a start needs, again while the store may still come. Throws a StoreError. */
  starting<T>(run: () => Promise<T>): Promise<T>
  /** The statements that insert rows, of which all have the same columns; compiled once per table. */
  insertions<Name extends keyof Tables>(
    table: Name,
    rows: readonly Tables[Name][],
    options?: InsertionOptions,
  ): readonly StoreStatement[]
  /**
   * Runs statements in one transaction; resolves when they are durable, with the rows that each
   * changed. Throws a StoreError.
   */
  commit(statements: readonly StoreStatement[], options?: CommitOptions): Promise<readonly number[]>
  /** For reports, which must not hold up whatever else the store does. */
  reader: Reader
  /** What it is and where, for the operator, without secrets. */
  describe(): Promise<string>
  /** Reads all of the store, beside its work; `look` throws from then on where it is damaged. */
  check(): Promise<void>
  /** Resolves while what is written is kept where it would be found again. Throws a StoreError. */
  look(): Promise<void>
  close(): Promise<void>
}

/** The file of the embedded store in `dataDir`. */
export const storePath = (dataDir: string): string => join(dataDir, 'gateway.db')
