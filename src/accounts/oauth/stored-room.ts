type Options = {
  max: number
  /** Counts what is stored. */
  count: () => Promise<number>
  /** Unix time in milliseconds. */
  clock: () => number
}

type StoredRoom = {
  /** Counts one more. Throws `refusal` where there are as many as there may be. */
  take(refusal: () => Error): Promise<void>
}

/** How long a count is good for; meanwhile what other processes add is not known. */
const countedForMs = 10_000

/** How many rows there may be, near enough: to count them costs more than to add one. */
export function createStoredRoom({ max, count, clock }: Options): StoredRoom {
  let counted: { rows: number; at: number } | undefined
  return {
    take: async (refusal) => {
      const now = clock()
      if (counted === undefined || Math.abs(now - counted.at) > countedForMs) {
        counted = { rows: await count(), at: now }
      }
      if (counted.rows >= max) throw refusal()
      counted.rows++
    },
  }
}
