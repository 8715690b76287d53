import type { Usage } from '../../core/money/price.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'

/** Names of the default service tier. */
const ordinaryTiers: ReadonlySet<unknown> = new Set(['default', 'standard', 'on_demand'])

/** The service tier of an answer in the vendor's term; empty for the default tier. */
export function servedTier(tier: unknown, texts: VendorTexts): Pick<Usage, 'serviceTier'> {
  const name = texts.name(tier, tierCharactersMax)
  return name === undefined || ordinaryTiers.has(name) ? {} : { serviceTier: name }
}

const tierCharactersMax = 40

/** The tiers of OpenAI's answers. */
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
