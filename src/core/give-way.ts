import type { Hold } from '../bytes/budget.ts'

/** What is smaller takes no time that anybody would notice. */
const largeBytes = 512 * 1024

/**
 * Between two steps of a large request: a promise that lets everybody else be answered first.
 * Undefined for one that holds little, which goes on at once.
 */
export function giveWay({ bytes }: Pick<Hold, 'bytes'>): Promise<void> | undefined {
  return bytes < largeBytes ? undefined : new Promise((resolve) => setImmediate(resolve))
}
