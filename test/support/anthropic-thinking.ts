import { allowOnly, type Spoken } from './spoken.ts'

type Body = Record<string, unknown>
export type Refuse = (text: string) => void

const newEfforts = ['low', 'medium', 'high', 'max']
/** Values of `thinking` and `effort` per generation; the first matching pattern applies. */
const generations: readonly [RegExp, { thinking: string[]; efforts: string[] }][] = [
  [/-4-5(?:-|$)/, { thinking: ['enabled', 'disabled'], efforts: [] }],
  [/-4-6(?:-|$)/, { thinking: ['enabled', 'disabled', 'adaptive'], efforts: newEfforts }],
  [/opus-4-[78]/, { thinking: ['adaptive'], efforts: [...newEfforts, 'xhigh'] }],
  [/opus-5-5|fable/, { thinking: ['adaptive'], efforts: [...newEfforts, 'xhigh'] }],
  [/sonnet-5-5/, { thinking: ['adaptive', 'between_tools'], efforts: [...newEfforts, 'xhigh'] }],
  [/-5/, { thinking: ['adaptive', 'disabled'], efforts: [...newEfforts, 'xhigh'] }],
]

/** The model thinks only if it is asked to, and may have to keep its thoughts to itself. */
export function shownTo({ thinking }: Body, { reasoning, ...spoken }: Spoken): Spoken {
  const { type, display } = (thinking ?? {}) as Body
  if (reasoning === undefined || type === undefined || type === 'disabled') return spoken
  return { ...spoken, reasoning: display === 'omitted' ? [''] : reasoning }
}

/** Refuses thinking that the model does not have, in the words of the vendor. */
export function checkThinking(thinking: unknown, body: Body, refuse: Refuse): void {
  if (thinking === undefined) return
  const { type } = thinking as Body
  const fields: Record<string, string[]> = {
    enabled: ['type', 'budget_tokens', 'display'],
    adaptive: ['type', 'display'],
  }
  allowOnly(thinking, fields[String(type)] ?? ['type'], 'thinking', 'invalid_request_error')
  if (!generationOf(body).thinking.includes(String(type))) {
    refuse(
      `"thinking.type.${String(type)}" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`,
    )
  }
  if (type === 'disabled' || type === 'between_tools') return
  if (body['temperature'] !== undefined) refuse('temperature: may not be set with thinking')
  if (type !== 'enabled') return
  const budget = Number(thinking['budget_tokens'])
  if (budget < 1024) refuse('thinking.budget_tokens: greater than or equal to 1024')
  if (budget >= Number(body['max_tokens'])) refuse('max_tokens must be greater than the budget')
}

function generationOf({ model }: Body) {
  return generations.find(([names]) => names.test(String(model)))![1]
}

/** Refuses an effort that the model does not have. */
export function checkEffort(effort: unknown, body: Body, refuse: Refuse): void {
  if (effort === undefined) return
  const { efforts } = generationOf(body)
  if (!efforts.includes(effort as string)) refuse('output_config.effort: Input should be one of …')
  const type = (body['thinking'] as Body | undefined)?.['type']
  const quiet = type === 'disabled' || type === 'between_tools'
  if (quiet && (effort === 'xhigh' || effort === 'max')) refuse('thinking: not with this effort')
}

/** With budgeted thinking, an assistant message with a tool call must start with its thinking block. */
export function checkThoughts(
  messages: readonly { role: string; content: unknown }[],
  thinking: unknown,
  refuse: Refuse,
): void {
  if ((thinking as Body | undefined)?.['type'] !== 'enabled') return
  const blocks = (messages.findLast(({ role }) => role === 'assistant')?.content ?? []) as Body[]
  const types = blocks.map(({ type }) => String(type))
  if (types.includes('tool_use') && !types[0]!.endsWith('thinking')) {
    refuse(`Expected \`thinking\` or \`redacted_thinking\`, but found \`${types[0]}\`.`)
  }
}
