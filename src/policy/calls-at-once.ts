/** Counts the calls that each owner of a limit has at once; who has none takes no memory. */
export function createCallsAtOnce() {
  const counts = new Map<string, number>()
  return {
    size: () => counts.size,
    of: (ownerId: string): number => counts.get(ownerId) ?? 0,
    begin: (ownerId: string): void => {
      counts.set(ownerId, (counts.get(ownerId) ?? 0) + 1)
    },
    end: (ownerId: string): void => {
      const left = (counts.get(ownerId) ?? 0) - 1
      if (left > 0) counts.set(ownerId, left)
      else counts.delete(ownerId)
    },
  }
}
