import type { Warning } from '../model.ts'
import type { Usage } from '../money/price.ts'

/** Bytes of an answer that the cache keeps: by default it has room for sixteen of this size. */
export const cacheEntryBytesMax = 4 * 1024 * 1024

/** An answer as stored in the response cache. */
export type Remembered = {
  modelId: string
  provider: string
  usage: Usage | undefined
  warnings: readonly Warning[]
  /** What it has cost; null where nobody knows, absent in what an older version wrote. */
  costNanoUsd?: number | null
  /** Roughly the memory that it takes. */
  bytes: number
  /** In the form that `deliver` stores and `replay` of the same Work reads. */
  result: unknown
}
