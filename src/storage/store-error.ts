/** What the store reported; `errcode` is SQLite's extended result code. */
export class StoreError extends Error {
  override name = 'StoreError'
  readonly errcode: number | undefined

  constructor(message: string, errcode?: number, options?: ErrorOptions) {
    super(message, options)
    this.errcode = errcode
  }

  /** Another connection holds the lock; the low byte is SQLITE_BUSY, whatever the reason. */
  get isBusy(): boolean {
    return ((this.errcode ?? 0) & 0xff) === 5
  }
}

/** An error of SQLite's as the store reports it; also one that came from another thread. */
export function toStoreError(error: unknown): StoreError {
  const { message = String(error), errcode } = error as { message?: string; errcode?: number }
  return new StoreError(message, errcode)
}
