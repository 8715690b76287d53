import type { ChatRequest, ReasoningEffort } from '../../core/chat/chat.ts'
import { dropped, type Target } from '../../core/model.ts'
import { nearestEffort, type Notes } from '../wire/fields.ts'
import type { MessageCreateParamsBase } from '@anthropic-ai/sdk/resources/messages'

type WireEffort = 'low' | 'medium' | 'high' | 'xhigh' | 'max'
type Budgeted = Exclude<ReasoningEffort, 'none'>

/** Newer models omit their thoughts unless requested. */
const adaptive = { type: 'adaptive', display: 'summarized' } as const
const budgets: Record<Budgeted, number> = {
  minimal: 1024,
  low: 1024,
  medium: 4096,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
}
/** Efforts of the newest models; the default for rows without efforts. */
const usual: readonly ReasoningEffort[] = ['none', 'low', 'medium', 'high', 'xhigh', 'max']

/** Writes the reasoning effort into `body` (docs/vendors.md#anthropic-thinking). */
export function writeThinking(
  request: ChatRequest,
  { model: { row } }: Target,
  body: WireRequest,
  notes: Notes,
): void {
  const { efforts = usual, thinks = 'asked', thinking_off: off } = row.chat ?? {}
  const effort = request.reasoning_effort ?? undefined
  if (effort === undefined) {
    if (thinks !== 'asked' && !isForced(body)) body.thinking = adaptive
    return
  }
  const applied = nearestEffort(efforts, effort)
  if (applied !== effort) {
    const reason = `${row.id} supports the efforts ${efforts.join(', ')}.`
    notes.warnings.push({ param: 'reasoning_effort', requested: effort, applied, reason })
  }
  if (applied === 'none') {
    if (off !== undefined) body.thinking = { type: off }
    return
  }
  const budgetMin = row.chat?.thinking_tokens_min
  if (budgetMin !== undefined) return writeBudget(applied, budgetMin, body, notes)
  // `applied` cannot be `minimal`: only models with a budget have this effort, and they returned above.
  body.output_config = { ...body.output_config, effort: applied as WireEffort }
  body.thinking = adaptive
}

function writeBudget(
  effort: Budgeted,
  budgetMin: number,
  body: WireRequest,
  { warnings }: Notes,
): void {
  const reason = obstacle(body, budgetMin)
  if (reason !== undefined) {
    warnings.push(dropped('reasoning_effort', effort, reason))
    return
  }
  body.thinking = {
    type: 'enabled',
    budget_tokens: Math.min(budgets[effort], body.max_tokens - 1),
  }
}

function obstacle(body: WireRequest, budgetMin: number): string | undefined {
  if (body.max_tokens <= budgetMin) return `Reasoning needs a max_tokens above ${budgetMin}.`
  if (isForced(body)) return 'Reasoning cannot be combined with a forced tool call.'
  if (!isThoughtless(body.messages)) return undefined
  return 'After a tool call, reasoning requires the thinking blocks of the call. Send them back.'
}

function isForced({ tool_choice: choice }: WireRequest): boolean {
  return choice?.type === 'any' || choice?.type === 'tool'
}

/** Whether the last answer calls a tool but lacks the thinking blocks before the call. */
function isThoughtless(messages: WireRequest['messages']): boolean {
  const { content = [] } = messages.findLast(({ role }) => role === 'assistant') ?? {}
  const types = typeof content === 'string' ? [] : content.map((block) => block.type)
  return types.includes('tool_use') && !types[0]!.endsWith('thinking')
}

/** The SDK's type with two sampling fields of API version 2023-06-01 that the SDK no longer lists. */
export type WireRequest = MessageCreateParamsBase & { temperature?: number; top_p?: number }
