import { ProviderFailure } from '../failure.ts'
import type { Deadline } from './deadline.ts'

type Running<Part, T> = {
  parts: readonly Part[]
  concurrency: number
  /** The answers by the place of their part, added as they arrive. */
  answers: T[]
  /** Called with the first failure. */
  onFailure?: ((error: unknown) => void) | undefined
}

/** The deadline of several calls, and the function that ends all of them when one fails. */
export function deadlineOfSiblings(deadline: Deadline) {
  const siblings = new AbortController()
  const signal = AbortSignal.any([deadline.signal, siblings.signal])
  const onFailure = (cause: unknown) =>
    siblings.abort(new ProviderFailure('cancelled', 'A sibling failed.', { cause }))
  return { deadline: { ...deadline, signal }, onFailure }
}

/**
 * Makes one call for each part of a request, at most `concurrency` at a time. Rejects with the first failure:
 * no call starts after this failure, and the running calls end first, since their answers are charged.
 */
export async function runParts<Part, T>(
  { parts, concurrency, answers, onFailure }: Running<Part, T>,
  call: (part: Part) => Promise<T>,
): Promise<void> {
  const failures: unknown[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < parts.length) {
      const place = next++
      try {
        answers[place] = await call(parts[place]!)
      } catch (error) {
        next = parts.length
        if (failures.push(error) === 1) onFailure?.(error)
      }
    }
  }
  await Promise.all(parts.slice(0, concurrency).map(worker))
  if (failures.length > 0) throw failures[0]
}
