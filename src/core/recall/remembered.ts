import type { Warning } from '../model.ts'
import type { Usage } from '../price.ts'

/** An answer as stored in the response cache. */
export type Remembered = {
  modelId: string
  provider: string
  usage: Usage | undefined
  warnings: readonly Warning[]
  /** Roughly the memory that it takes. */
  bytes: number
  /** In the form that `deliver` stores and `replay` of the same Work reads. */
  result: unknown
}
