import type { Schemas } from '../../data/api.ts'

export type Entry = Schemas['CatalogEntry']

const abilityNames: Readonly<Record<string, string>> = {
  chat: 'chat',
  streaming: 'streaming',
  tools: 'tools',
  vision: 'sees pictures',
  reasoning: 'reasoning',
  image_generation: 'creates pictures',
  image_edit: 'edits pictures',
  json_schema: 'JSON schema',
  multi_image_input: 'several input pictures',
  mask: 'masks',
  seed: 'seed',
  negative_prompt: 'negative prompt',
  accepts_temperature: 'temperature',
  forced_tool_choice: 'forced tools',
  prefill: 'prefilled answers',
  transparency: 'transparent background',
  multiple_choices: 'several answers',
}

/** Text for a capability. */
export function abilityName(ability: string): string {
  return abilityNames[ability] ?? ability.replaceAll('_', ' ')
}

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

/** Prices per million tokens or per picture; undefined when unknown. */
export function pricesOf({ model: { pricing } }: Entry): {
  input?: string | undefined
  output?: string | undefined
  /** Unit of the output price in front of it, when it is not a million tokens. */
  unit?: string
} {
  const pictures = (pricing.per_image ?? []).toSorted((a, b) => Number(a.usd) - Number(b.usd))
  const [cheapest] = pictures
  if (cheapest !== undefined) {
    const varies = pictures.at(-1)!.usd !== cheapest.usd
    return { output: cheapest.usd, unit: varies ? 'per picture, from' : 'per picture' }
  }
  const output = pricing.output_per_million_tokens ?? pricing.image_output_per_million_tokens
  return { input: pricing.input_per_million_tokens, output }
}

/** State of a model, as a word and its CSS class. */
export function stateOf({ model, is_usable: isUsable }: Entry): { text: string; look: string } {
  if (model.status === 'deactivated') return { text: 'ended', look: 'wrong' }
  if (!isUsable) return { text: 'not configured', look: '' }
  if (model.status === 'deprecated') return { text: 'deprecated', look: 'warn' }
  return { text: 'ready', look: 'good' }
}
