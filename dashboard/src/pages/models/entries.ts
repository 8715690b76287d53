import type { Schemas } from '../../data/api.ts'

export type Entry = Schemas['CatalogEntry']

/** Names of a model's capabilities. */
export function abilitiesOf({ model: { capabilities = {} } }: Entry): string[] {
  return Object.keys(capabilities).filter((name) => capabilities[name] === true)
}

/** Whether the model writes nothing, so that only its input has a price. */
export function isForInputOnly({ modality }: Entry): boolean {
  return modality === 'embedding' || modality === 'moderation'
}

/**
 * Price for sorting, in dollars: per million output tokens, per cheapest picture, or per million input
 * tokens of a model that writes nothing; undefined when unknown.
 */
export function comparedPrice(entry: Entry): number | undefined {
  const { pricing } = entry.model
  const pictures = (pricing.per_image ?? []).map(({ usd }) => Number(usd))
  if (pictures.length > 0) return Math.min(...pictures)
  const output = isForInputOnly(entry)
    ? pricing.input_per_million_tokens
    : (pricing.output_per_million_tokens ?? pricing.image_output_per_million_tokens)
  return output === undefined ? undefined : Number(output)
}

/** State of a model, as a word and its CSS class. */
export function stateOf({ model, is_usable: isUsable }: Entry): { text: string; look: string } {
  if (model.status === 'deactivated') return { text: 'ended', look: 'wrong' }
  if (!isUsable) return { text: 'not configured', look: '' }
  if (model.status === 'deprecated') return { text: 'deprecated', look: 'warn' }
  return { text: 'ready', look: 'good' }
}
