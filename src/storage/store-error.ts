type Options = ErrorOptions & {
  /** The reason for the operator; by default the error's message. */
  reason?: string
  remedy?: string
  /** What caused an error without `errcode`: by default the store itself. */
  concerns?: 'row' | 'statement'
  /** The statement exceeded its time limit. */
  isLate?: boolean
}

/** An error of the store; `errcode` is SQLite's extended result code, undefined for PostgreSQL. */
export class StoreError extends Error {
  override name = 'StoreError'
  readonly errcode: number | undefined

  readonly #options: Omit<Options, 'cause'>

  constructor(message: string, errcode?: number, options: Options = {}) {
    super(message, options)
    this.errcode = errcode
    this.#options = options
  }

  /** The primary result code (sqlite.org/rescode.html). */
  get #primary(): number {
    return (this.errcode ?? 0) & 0xff
  }

  /** Whether another connection holds the lock. */
  get isBusy(): boolean {
    return this.#primary === codes.busy
  }

  /** Whether the file is damaged, or not a database. */
  get isDamage(): boolean {
    return this.#primary === codes.damaged || this.#primary === codes.notADatabase
  }

  /** Whether the statement is invalid: a bug, or tables that were changed by hand. */
  get concernsStatement(): boolean {
    return this.#options.concerns === 'statement' || this.#primary === codes.error
  }

  /** Whether the row itself is invalid; other rows may be written. */
  get concernsRow(): boolean {
    return this.#options.concerns === 'row' || rowCodes.has(this.#primary)
  }

  /** Whether the statement exceeded its time limit, without another known fault. */
  get isLate(): boolean {
    return this.#options.isLate === true
  }

  /** Reason and remedy, for the operator. */
  get diagnosis(): { reason: string; remedy: string } {
    const { reason = this.message.replace(/\.$/, ''), remedy = look } = this.#options
    return troubles[this.#primary] ?? { reason, remedy }
  }
}

const codes = {
  error: 1,
  busy: 5,
  locked: 6,
  readOnly: 8,
  io: 10,
  damaged: 11,
  full: 13,
  notOpened: 14,
  notADatabase: 26,
}
/** TOOBIG, CONSTRAINT, MISMATCH and RANGE. */
const rowCodes: ReadonlySet<number> = new Set([18, 19, 20, 25])

const orElse = ', or set DATA_DIR to another folder.'
const look = 'Check that the disk of DATA_DIR works and has free space.'
const locked = { reason: 'another program has locked it', remedy: `Stop that program${orElse}` }
const troubles: Readonly<Record<number, { reason: string; remedy: string }>> = {
  [codes.busy]: locked,
  [codes.locked]: locked,
  [codes.readOnly]: { reason: 'it is read-only', remedy: 'Let this user write to DATA_DIR.' },
  [codes.io]: { reason: 'its disk fails or is full', remedy: look },
  [codes.damaged]: { reason: 'it is damaged', remedy: `Restore a backup${orElse}` },
  [codes.full]: { reason: 'the disk is full', remedy: 'Free some space on the disk of DATA_DIR.' },
  [codes.notOpened]: { reason: 'it cannot be opened', remedy: look },
  [codes.notADatabase]: { reason: 'it is not a database', remedy: `Move it away${orElse}` },
}

/** The error for a file that cannot be opened: reason and remedy. */
export function cannotOpen(
  path: string,
  { diagnosis: { reason, remedy } }: StoreError,
): StoreError {
  return new StoreError(`The store ${path} cannot be opened: ${reason}. ${remedy}`)
}

/** Converts an error of node:sqlite, or its copy from the worker thread. */
export function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  // Errors of node:sqlite have both members; other errors may have neither.
  const { message = String(error), errcode } = error as { message?: string; errcode?: number }
  return new StoreError(message, errcode)
}
