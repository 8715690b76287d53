/** An error of the store; `errcode` is SQLite's extended result code. */
export class StoreError extends Error {
  override name = 'StoreError'
  readonly errcode: number | undefined

  readonly #remedy: string

  constructor(message: string, errcode?: number, options?: ErrorOptions & { remedy?: string }) {
    super(message, options)
    this.errcode = errcode
    this.#remedy = options?.remedy ?? look
  }

  /** The primary result code (sqlite.org/rescode.html). */
  get #primary(): number {
    return (this.errcode ?? 0) & 0xff
  }

  /** Whether another connection holds the lock. */
  get isBusy(): boolean {
    return this.#primary === codes.busy
  }

  /** Whether the row itself is at fault, and others may be written. */
  get concernsRow(): boolean {
    return rowCodes.has(this.#primary)
  }

  /** Whether the file is damaged. */
  get isDamaged(): boolean {
    return this.#primary === codes.damaged
  }

  /** What is wrong and what helps, for the operator. */
  get told(): { reason: string; remedy: string } {
    const reason = this.message.replace(/\.$/, '')
    return troubles[this.#primary] ?? { reason, remedy: this.#remedy }
  }
}

const codes = { busy: 5, locked: 6, readOnly: 8, io: 10, damaged: 11, full: 13, notOpened: 14 }
/** TOOBIG, CONSTRAINT, MISMATCH and RANGE. */
const rowCodes: ReadonlySet<number> = new Set([18, 19, 20, 25])

const look = 'Look at the disk of DATA_DIR; the gateway tries again by itself.'
const held = { reason: 'another program holds it', remedy: 'End that program.' }
const troubles: Readonly<Record<number, { reason: string; remedy: string }>> = {
  [codes.busy]: held,
  [codes.locked]: held,
  [codes.readOnly]: { reason: 'it may only be read', remedy: 'Let this user write to DATA_DIR.' },
  [codes.io]: { reason: 'its disk fails', remedy: look },
  [codes.damaged]: { reason: 'it is damaged', remedy: 'Put a copy in its place and start again.' },
  [codes.full]: { reason: 'the disk is full', remedy: 'Free some space on the disk of DATA_DIR.' },
  [codes.notOpened]: { reason: 'it cannot be opened', remedy: look },
}

/** Converts an error of node:sqlite, or its copy from the worker thread. */
export function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  // Errors of node:sqlite have both members; other errors may have neither.
  const { message = String(error), errcode } = error as { message?: string; errcode?: number }
  return new StoreError(message, errcode)
}
