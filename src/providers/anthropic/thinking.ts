import type { ChatRequest, ReasoningEffort } from '../../core/chat/chat.ts'
import { dropped, type Target } from '../../core/model.ts'
import type { Notes } from '../wire/fields.ts'
import type { WireRequest } from './wire.ts'

type WireEffort = 'low' | 'medium' | 'high' | 'xhigh' | 'max'

/** Models that take a token budget instead of an effort. */
const budgeted = /-4-5(?:-|$)/
/** Models without effort `xhigh`. */
const withoutExtra = /-4-6(?:-|$)/
const budgetMin = 1024
const budgets: Record<Exclude<ReasoningEffort, 'none'>, number> = {
  minimal: 1024,
  low: 1024,
  medium: 4096,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
}

/** Writes the reasoning effort into `body` (docs/vendors.md#anthropic-thinking). */
export function writeThinking(
  request: ChatRequest,
  { upstreamModel }: Target,
  body: WireRequest,
  notes: Notes,
): void {
  const { reasoning_effort: effort } = request
  if (effort === undefined || effort === null || effort === 'none') return
  if (budgeted.test(upstreamModel)) return writeBudget(effort, body, notes)
  const applied = effortOf(effort, upstreamModel)
  if (applied !== effort) {
    const reason = `${upstreamModel} has no effort '${effort}'.`
    notes.warnings.push({ param: 'reasoning_effort', requested: effort, applied, reason })
  }
  body.output_config = { ...body.output_config, effort: applied }
  body.thinking = { type: 'adaptive' }
}

function effortOf(effort: Exclude<ReasoningEffort, 'none'>, model: string): WireEffort {
  if (effort === 'minimal') return 'low'
  return effort === 'xhigh' && withoutExtra.test(model) ? 'max' : effort
}

function writeBudget(
  effort: Exclude<ReasoningEffort, 'none'>,
  body: WireRequest,
  { warnings }: Notes,
): void {
  const reason = obstacle(body)
  if (reason !== undefined) {
    warnings.push(dropped('reasoning_effort', effort, reason))
    return
  }
  body.thinking = {
    type: 'enabled',
    budget_tokens: Math.min(budgets[effort], body.max_tokens - 1),
  }
}

function obstacle(body: WireRequest): string | undefined {
  if (body.max_tokens <= budgetMin) return `Reasoning takes more than ${budgetMin} tokens.`
  const { type } = body.tool_choice ?? { type: 'auto' }
  if (type === 'any' || type === 'tool') return 'Reasoning does not go with a forced tool call.'
  if (!isThoughtless(body.messages)) return undefined
  return 'After a tool call, reasoning requires that the thinking blocks of the call are sent back.'
}

/** Whether the last answer calls a tool but lacks the thinking blocks before the call. */
function isThoughtless(messages: WireRequest['messages']): boolean {
  const { content = [] } = messages.findLast(({ role }) => role === 'assistant') ?? {}
  const types = typeof content === 'string' ? [] : content.map((block) => block.type)
  return types.includes('tool_use') && !types[0]!.endsWith('thinking')
}
