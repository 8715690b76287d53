import type { Warning } from '../model.ts'
import type { Usage } from '../price.ts'

/** An answer as the cache keeps it. */
export type Remembered = {
  modelId: string
  provider: string
  usage: Usage | undefined
  warnings: readonly Warning[]
  /** About how much memory it takes. */
  bytes: number
  /** As `Work.pack` made it. */
  result: unknown
}
