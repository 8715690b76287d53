import type { Delivery } from '../call.ts'
import type { CallContext } from '../caller.ts'
import { toGatewayError } from '../error.ts'
import type { CachedAnswer } from './cached-answer.ts'
import type { Making } from './in-flight.ts'

export type KeeperParts = {
  /**
   * Stores an answer in the response cache; `ttlMs` overrides the default lifetime. Resolves with whether
   * the shared cache stored the answer; undefined without a shared cache.
   */
  remember: (
    key: string,
    answer: CachedAnswer,
    ttlMs: number | undefined,
  ) => Promise<boolean> | undefined
  /** Called for an error after the answer was sent. */
  onFault: (error: unknown) => void
}

/**
 * Passes an answer to the calls that joined this call, and stores the answer in the cache. The answer has
 * been sent by then: an error is reported, and neither ends the process nor blocks the joined calls.
 */
export function keeper(
  { remember, onFault }: KeeperParts,
  { cache }: CallContext,
  key: string | undefined,
  making: Making<CachedAnswer> | undefined,
): Delivery['keep'] {
  if (key === undefined || (making === undefined && !cache.remember)) return undefined
  return (pack) => {
    try {
      const answer = pack()
      let kept: Promise<boolean> | undefined
      try {
        if (cache.remember) kept = remember(key, answer, cache.ttlMs)
      } finally {
        making?.succeed(answer, kept)
      }
    } catch (fault) {
      making?.fail(toGatewayError(fault))
      onFault(fault)
    }
  }
}
