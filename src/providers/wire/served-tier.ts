import type { Usage } from '../../core/money/price.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'

/** Names of the tier that everybody is served in. */
const ordinaryTiers: ReadonlySet<unknown> = new Set(['default', 'standard', 'on_demand'])

/** The tier of an answer in its vendor's word; nothing when it is the ordinary one. */
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

/** The tier as OpenAI names it; undefined where it has no such tier. */
export function openAiTier(tier: unknown): unknown {
  if (ordinaryTiers.has(tier)) return 'default'
  return openAiTiers.has(tier) ? tier : undefined
}
