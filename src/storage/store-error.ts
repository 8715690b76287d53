type Options = ErrorOptions & {
  /** For the operator; else the message is the reason. */
  reason?: string
  remedy?: string
  /** What is at fault where no `errcode` tells; else it is the store itself. */
  concerns?: 'row' | 'statement'
  /** The statement was ended since it took longer than it may. */
  isLate?: boolean
}

/** An error of the store; `errcode` is SQLite's extended result code, undefined for another store. */
export class StoreError extends Error {
  override name = 'StoreError'
  readonly errcode: number | undefined

  readonly #told: Omit<Options, 'cause'>

  constructor(message: string, errcode?: number, options: Options = {}) {
    super(message, options)
    this.errcode = errcode
    this.#told = options
  }

  /** The primary result code (sqlite.org/rescode.html). */
  get #primary(): number {
    return (this.errcode ?? 0) & 0xff
  }

  /** Whether another connection holds the lock. */
  get isBusy(): boolean {
    return this.#primary === codes.busy
  }

  /** Whether the file is damaged, or no database at all. */
  get isDamage(): boolean {
    return this.#primary === codes.damaged || this.#primary === codes.notADatabase
  }

  /** Whether the statement is at fault: a bug, or tables that somebody has changed. */
  get concernsStatement(): boolean {
    return this.#told.concerns === 'statement' || this.#primary === codes.error
  }

  /** Whether the row itself is at fault, and others may be written. */
  get concernsRow(): boolean {
    return this.#told.concerns === 'row' || rowCodes.has(this.#primary)
  }

  /** Whether it took longer than it may, and nothing else is known to be wrong. */
  get isLate(): boolean {
    return this.#told.isLate === true
  }

  /** What is wrong and what helps, for the operator. */
  get told(): { reason: string; remedy: string } {
    const { reason = this.message.replace(/\.$/, ''), remedy = look } = this.#told
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
const look = 'Look whether the disk of DATA_DIR is whole and has room.'
const held = { reason: 'another program holds it', remedy: `End that program${orElse}` }
const troubles: Readonly<Record<number, { reason: string; remedy: string }>> = {
  [codes.busy]: held,
  [codes.locked]: held,
  [codes.readOnly]: { reason: 'it may only be read', remedy: 'Let this user write to DATA_DIR.' },
  [codes.io]: { reason: 'its disk fails or is full', remedy: look },
  [codes.damaged]: { reason: 'it is damaged', remedy: `Put a copy in its place${orElse}` },
  [codes.full]: { reason: 'the disk is full', remedy: 'Free some space on the disk of DATA_DIR.' },
  [codes.notOpened]: { reason: 'it cannot be opened', remedy: look },
  [codes.notADatabase]: { reason: 'file is not a database', remedy: `Move it away${orElse}` },
}

/** Why the file cannot be opened, and what helps. */
export function cannotOpen(path: string, { told: { reason, remedy } }: StoreError): StoreError {
  return new StoreError(`The store ${path} cannot be opened: ${reason}. ${remedy}`)
}

/** Converts an error of node:sqlite, or its copy from the worker thread. */
export function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  // Errors of node:sqlite have both members; other errors may have neither.
  const { message = String(error), errcode } = error as { message?: string; errcode?: number }
  return new StoreError(message, errcode)
}
