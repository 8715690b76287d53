import type { Hold } from './budget.ts'

/** Smaller requests block the event loop for less than a millisecond a step. */
const largeBytes = 512 * 1024

/**
 * Yields to the event loop between two steps of a large request, so that others are answered.
 * Undefined for a small request, which goes on at once.
 */
export function yieldIfLarge({ bytes }: Pick<Hold, 'bytes'>): Promise<void> | undefined {
  return bytes < largeBytes ? undefined : new Promise((resolve) => setImmediate(resolve))
}
