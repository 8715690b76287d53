/** The bytes of the answers that are kept, by account. */
export type ShelfRoom = {
  /** Who has no room for one more. */
  refusal(accountId: string): 'account' | 'process' | undefined
  /** Counts an answer of so many bytes. */
  take(accountId: string, bytes: number): void
  /** Counts more bytes of an answer. */
  grow(accountId: string, bytes: number): void
  /** An answer of so many bytes is gone. */
  give(accountId: string, bytes: number): void
  /** From here on it is what the store has, whoever has put it there. */
  count(kept: readonly { accountId: string; bytes: number; answers: number }[]): void
}

/** What a row takes besides the answer. */
const rowBytes = 1024
const accountShare = 0.5

/**
 * Counts the bytes of this process on top of what the store had when it was counted; an account may take
 * half of them.
 */
export function createShelfRoom(bytesMax: () => number): ShelfRoom {
  const held = new Map<string, number>()
  let total = 0
  const add = (accountId: string, bytes: number) => {
    const now = (held.get(accountId) ?? 0) + bytes
    total += bytes
    if (now > 0) held.set(accountId, now)
    else held.delete(accountId)
  }
  return {
    refusal: (accountId) => {
      if (total + rowBytes > bytesMax()) return 'process'
      const own = held.get(accountId) ?? 0
      return own + rowBytes > bytesMax() * accountShare ? 'account' : undefined
    },
    take: (accountId, bytes) => add(accountId, bytes + rowBytes),
    grow: add,
    give: (accountId, bytes) => add(accountId, -bytes - rowBytes),
    count: (kept) => {
      held.clear()
      total = 0
      for (const { accountId, bytes, answers } of kept) add(accountId, bytes + answers * rowBytes)
    },
  }
}
