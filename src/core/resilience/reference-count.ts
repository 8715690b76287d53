/** Reference count of a resource, which is closed after its last user leaves. */
export type ReferenceCount = {
  enter(): void
  leave(): void
  /** Resolves with true when the count is 0, and with false after `timeoutMs`. */
  emptied(timeoutMs: number): Promise<boolean>
}

export function createReferenceCount(): ReferenceCount {
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
        // The timer does not keep the process alive.
        late.unref()
        onEmpty = () => {
          clearTimeout(late)
          resolve(true)
        }
      }),
  }
}
