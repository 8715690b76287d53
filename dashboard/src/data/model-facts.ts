import type { Schemas } from './api.ts'

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

/** Prices per million tokens or per picture; undefined when unknown. */
export function pricesOf({ model: { pricing } }: { model: Pick<Schemas['Model'], 'pricing'> }): {
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
