/** An error of the store; `errcode` is SQLite's extended result code. */
export class StoreError extends Error {
  override name = 'StoreError'
  readonly errcode: number | undefined

  constructor(message: string, errcode?: number, options?: ErrorOptions) {
    super(message, options)
    this.errcode = errcode
  }

  /** Whether another connection holds the lock: 5 is SQLITE_BUSY (sqlite.org/rescode.html). */
  get isBusy(): boolean {
    return ((this.errcode ?? 0) & 0xff) === 5
  }
}

/** Converts an error of node:sqlite, or its copy from the worker thread. */
export function toStoreError(error: unknown): StoreError {
  // Errors of node:sqlite have both members; other errors may have neither.
  const { message = String(error), errcode } = error as { message?: string; errcode?: number }
  return new StoreError(message, errcode)
}
