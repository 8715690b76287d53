import type { Target } from '../../core/model.ts'
import type { Usage, UsageCount, usageCounts } from '../../core/money/price.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'

/** The maximum token counts of a call; larger counts are an error of the vendor. */
export type TokensMax = { input: number; output: number }

/** Factor on the limits of a model: built-in tools make it read and write several times per call. */
const turnsMax = 4
/** Lower bound of the limit: an unknown context window may be as large as the largest known. */
const inputTokensMin = turnsMax * 1_048_576
const outputTokensMin = 1_048_576

/** The maximum counts for a model and a number of answers (docs/vendors.md#token-counts). */
export function tokensMaxOf({ model }: Pick<Target, 'model'>, answers = 1): TokensMax {
  const { context_window: window, max_output_tokens: output } = model.row
  return {
    input: Math.max(turnsMax * (window ?? 0), inputTokensMin),
    output: Math.max(turnsMax * (output ?? window ?? 0), outputTokensMin) * answers,
  }
}

/** Unvalidated members of a vendor's usage; lists are added up. */
type Reported = {
  input: readonly unknown[]
  output: readonly unknown[]
} & Partial<Record<PartName, unknown>>
type PartName = Exclude<(typeof usageCounts)[UsageCount], 'inputTokens' | 'outputTokens' | 'images'>

/**
 * Canonical token counts. Undefined if the vendor sent none or implausible ones: then the gateway
 * estimates. Counts that need correction (a fraction, a string, a part larger than the whole) are
 * marked as estimated.
 */
export function usageOf(reported: Reported, most: TokensMax): Usage | undefined {
  const { input, output } = reported
  if (isAbsent(input[0])) return undefined
  const inputTokens = sumOf(input, most.input)
  const outputTokens = sumOf(output, most.output)
  if (inputTokens === undefined || outputTokens === undefined) return undefined
  let estimated = input.some(isInexact) || output.some(isInexact)
  const part = (name: PartName, whole: number): number => {
    const value = reported[name]
    if (isAbsent(value)) return 0
    const count = Math.min(countIn(value) ?? 0, whole)
    if (count !== value) estimated = true
    return count
  }
  const cached = part('cachedInputTokens', inputTokens)
  const drawn = part('imageOutputTokens', outputTokens)
  const counts: Record<PartName, number> = {
    cachedInputTokens: cached,
    cacheWriteTokens: part('cacheWriteTokens', inputTokens - cached),
    audioInputTokens: part('audioInputTokens', inputTokens),
    imageInputTokens: part('imageInputTokens', inputTokens),
    reasoningTokens: part('reasoningTokens', outputTokens),
    imageOutputTokens: drawn,
    audioOutputTokens: part('audioOutputTokens', outputTokens - drawn),
  }
  const usage: Usage = { inputTokens, outputTokens, images: 0, estimated }
  for (const key in counts) {
    // `counts` has no other keys.
    const name = key as PartName
    if (counts[name] > 0) usage[name] = counts[name]
  }
  return usage
}

/** A token count, also as a numeric string; undefined for anything else. */
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

function isInexact(value: unknown): boolean {
  return !isAbsent(value) && value !== countIn(value)
}

function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null
}

const ordinaryTiers: ReadonlySet<unknown> = new Set(['default', 'standard', 'on_demand'])

/** Adds the service tier of an answer in the vendor's term, unless it is the default tier. */
export function withTier(usage: Usage, tier: unknown, texts: VendorTexts): Usage {
  const name = texts.name(tier, tierCharactersMax)
  return name === undefined || ordinaryTiers.has(name) ? usage : { ...usage, serviceTier: name }
}

const tierCharactersMax = 40

const openAiTiers: ReadonlySet<unknown> = new Set([
  'auto',
  'default',
  'flex',
  'scale',
  'priority',
  'fast',
  null,
])

/** OpenAI's name of the tier; undefined if OpenAI has no such tier. */
export function openAiTier(tier: unknown): unknown {
  if (ordinaryTiers.has(tier)) return 'default'
  return openAiTiers.has(tier) ? tier : undefined
}
