import type { ReasoningEffort } from '../../core/chat/chat.ts'
import { nearestEffort } from '../wire/fields.ts'
import type { Abilities } from './dialect.ts'
import { drop, leaveOut, type Draft } from './draft.ts'

/** Sets the reasoning effort closest to the request that the model and the vendor support. */
export function adjustThinking(draft: Draft): void {
  const { target, abilities, body } = draft
  const { row, undescribed } = target.model
  if (!undescribed && !row.capabilities.reasoning) {
    // A model without reasoning satisfies `none`.
    if (body['reasoning_effort'] === 'none') leaveOut('reasoning_effort', body)
    drop('reasoning_effort', `${row.id} has no reasoning.`, draft)
    return
  }
  if (undescribed && abilities === undefined) return
  // Has the contract's type, or a value that this function set.
  const wanted = body['reasoning_effort'] as ReasoningEffort | null | undefined
  const effort = besideTools(wanted ?? undefined, draft)
  if (effort === undefined) leaveOut('reasoning_effort', body)
  else writeEffort(effort, draft)
  if (abilities?.without_while_thinking === undefined) return
  if (!isThinking(effort, abilities)) return
  for (const field of abilities.without_while_thinking) {
    drop(field, `${row.id} does not accept this parameter while it reasons.`, draft)
  }
}

/** Whether a model thinks when this effort, or none, is asked for. */
export function isThinking(
  effort: ReasoningEffort | undefined,
  abilities: Abilities | undefined,
): boolean {
  if (abilities?.thinks === 'always') return true
  return effort === undefined ? abilities?.thinks === 'unasked' : effort !== 'none'
}

/** The effort that can be combined with the tools of the request. */
function besideTools(
  effort: ReasoningEffort | undefined,
  draft: Draft,
): ReasoningEffort | undefined {
  const { abilities, body, target, dialect, warnings, problems } = draft
  const taken = dialect.toolsWhileThinking ? undefined : abilities?.tools_while_thinking
  if (taken === undefined || !Array.isArray(body['tools']) || body['tools'].length === 0) {
    return effort
  }
  const choice = body['tool_choice']
  const isForced = choice === 'required' || (typeof choice === 'object' && choice !== null)
  if (!isThinking(effort, abilities) || (taken === 'unforced' && !isForced)) return effort
  const { id } = target.model.row
  if (taken === 'unforced' && abilities?.thinks === 'always') {
    const reason = `${id} always thinks, and does not allow a forced tool then.`
    warnings.push({ param: 'tool_choice', requested: choice, applied: 'auto', reason })
    body['tool_choice'] = 'auto'
    return effort
  }
  if (abilities?.thinks === 'always') {
    const message = `${id} accepts tools only in the Responses API. Choose another model.`
    problems.push({ param: 'tools', message })
    return effort
  }
  const reason =
    taken === 'unforced'
      ? `${id} does not think when a tool is forced.`
      : `${id} cannot reason when it has tools, except in the vendor's Responses API.`
  const requested = effort ?? null
  warnings.push({ param: 'reasoning_effort', requested, applied: 'none', reason })
  return 'none'
}

function writeEffort(
  effort: ReasoningEffort,
  { target, dialect, abilities, body, warnings }: Draft,
) {
  const { thinking: switched } = dialect
  const efforts = abilities?.efforts ?? dialect.efforts
  const { id } = target.model.row
  const warn = (applied: string, reason: string) =>
    warnings.push({ param: 'reasoning_effort', requested: effort, applied, reason })
  leaveOut('reasoning_effort', body)
  const hasEfforts = efforts?.some((one) => one !== 'none') === true || effort === 'none'
  if (switched !== undefined && effort === 'none' && abilities?.thinks !== 'always') {
    Object.assign(body, switched(false))
  } else if (efforts !== undefined && hasEfforts) {
    const applied = nearestEffort(efforts, effort)
    if (switched !== undefined) Object.assign(body, switched(true))
    body['reasoning_effort'] = applied
    if (applied !== effort) warn(applied, `${id} supports the efforts ${efforts.join(', ')}.`)
  } else if (switched !== undefined || efforts !== undefined) {
    if (effort !== 'none') Object.assign(body, switched?.(true))
    warn('on', `${id} has no effort levels; its reasoning is on or off.`)
  } else body['reasoning_effort'] = effort
}
