import type { Warning } from '../model.ts'
import type { Usage } from '../money/price.ts'

/** The largest answer that is cached; by default sixteen of this size fit into the cache. */
export const cacheEntryBytesMax = 4 * 1024 * 1024

/** An answer as stored in the response cache. */
export type CachedAnswer = {
  modelId: string
  provider: string
  usage: Usage | undefined
  warnings: readonly Warning[]
  /** The cost of the answer; null when unknown, absent in entries of an older version. */
  costNanoUsd?: number | null
  /** Roughly the memory that the answer takes. */
  bytes: number
  /** Written by `deliver` and read by `replay` of the same Work. */
  result: unknown
}
