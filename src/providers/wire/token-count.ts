import type { Target } from '../../core/model.ts'
import type { Usage } from '../../core/money/price.ts'

/** The most tokens that a call can count; more are an error of the vendor. */
export type TokensMax = { input: number; output: number }

/** Vendors that use tools of their own read and write several times in one call. */
const turnsMax = 4
/** No window that is known is larger by much, and an unknown one may be as large. */
const inputTokensMin = turnsMax * 1_048_576
const outputTokensMin = 1_048_576

/** What a call of a model can count for so many answers (docs/vendors.md#token-counts). */
export function tokensMaxOf({ model }: Pick<Target, 'model'>, answers = 1): TokensMax {
  const { context_window: window, max_output_tokens: output } = model.row
  return {
    input: Math.max(turnsMax * (window ?? 0), inputTokensMin),
    output: Math.max(turnsMax * (output ?? window ?? 0), outputTokensMin) * answers,
  }
}

/** Members of a vendor's usage; those of a list are added up. */
type Told = {
  input: readonly unknown[]
  output: readonly unknown[]
} & Partial<Record<PartName, unknown>>
type PartName =
  | 'cachedInputTokens'
  | 'cacheWriteTokens'
  | 'audioInputTokens'
  | 'imageInputTokens'
  | 'reasoningTokens'
  | 'imageOutputTokens'
  | 'audioOutputTokens'

/**
 * Canonical token counts. Undefined when the vendor told none, or what cannot be: then the gateway estimates. What
 * is read otherwise than it was told (a fraction, a text, a part larger than the whole) makes all of it an estimate.
 */
export function usageOf({ input, output, ...parts }: Told, most: TokensMax): Usage | undefined {
  if (isAbsent(input[0])) return undefined
  const inputTokens = sumOf(input, most.input)
  const outputTokens = sumOf(output, most.output)
  if (inputTokens === undefined || outputTokens === undefined) return undefined
  let estimated = [...input, ...output].some(
    (value) => !isAbsent(value) && value !== countIn(value),
  )
  const part = (name: PartName, whole: number): number => {
    const told = parts[name]
    if (isAbsent(told)) return 0
    const count = Math.min(countIn(told) ?? 0, whole)
    if (count !== told) estimated = true
    return count
  }
  const cached = part('cachedInputTokens', inputTokens)
  const drawn = part('imageOutputTokens', outputTokens)
  const counts = {
    cachedInputTokens: cached,
    cacheWriteTokens: part('cacheWriteTokens', inputTokens - cached),
    audioInputTokens: part('audioInputTokens', inputTokens),
    imageInputTokens: part('imageInputTokens', inputTokens),
    reasoningTokens: part('reasoningTokens', outputTokens),
    imageOutputTokens: drawn,
    audioOutputTokens: part('audioOutputTokens', outputTokens - drawn),
  }
  const told = Object.entries(counts).filter(([, count]) => count > 0)
  return { inputTokens, outputTokens, images: 0, estimated, ...Object.fromEntries(told) }
}

/** A count that a vendor may mean: some write it as a text. Undefined for anything else. */
export function countIn(value: unknown): number | undefined {
  const count = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  if (typeof count !== 'number' || !(count >= 0)) return undefined
  const rounded = Math.ceil(count)
  return Number.isSafeInteger(rounded) ? rounded : undefined
}

function sumOf(values: readonly unknown[], most: number): number | undefined {
  let sum = 0
  for (const value of values) {
    const count = isAbsent(value) ? 0 : countIn(value)
    if (count === undefined) return undefined
    sum += count
  }
  return sum <= most ? sum : undefined
}

function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null
}
