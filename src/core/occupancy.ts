/** Counts those at work with something that is given up behind the last of them. */
export type Occupancy = {
  enter(): void
  leave(): void
  /** Resolves when nobody is left; false when somebody still is after so long. */
  emptied(timeoutMs: number): Promise<boolean>
}

export function createOccupancy(): Occupancy {
  let count = 0
  let onEmpty: (() => void) | undefined
  return {
    enter: () => {
      count++
    },
    leave: () => {
      count--
      if (count === 0) onEmpty?.()
    },
    emptied: (timeoutMs) =>
      new Promise((resolve) => {
        if (count === 0) return resolve(true)
        const late = setTimeout(resolve, timeoutMs, false)
        // Whoever ends the process does not wait for it.
        late.unref()
        onEmpty = () => {
          clearTimeout(late)
          resolve(true)
        }
      }),
  }
}
