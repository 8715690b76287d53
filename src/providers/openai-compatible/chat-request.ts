import type { ChatRequest, ReasoningEffort } from '../../core/chat/chat.ts'
import { isIdle } from '../../core/chat/idle.ts'
import { dropped, type Target } from '../../core/model.ts'
import { jsonInWords, type Notes, type WrittenChat } from '../wire/fields.ts'
import type { ChatDialect, ToolReasoning } from './dialect.ts'
import { withoutMark, writeHistory } from './history.ts'

type Field = keyof ChatRequest
type Body = Record<string, unknown> & Pick<ChatRequest, 'messages'>
type Draft = { request: ChatRequest; target: Target; dialect: ChatDialect; body: Body }

const sampling: readonly Field[] = [
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
]

/** The canonical request in a vendor's dialect, without the gateway's own fields. */
export function writeChat(
  request: ChatRequest,
  target: Target,
  dialect: ChatDialect,
): WrittenChat<Body> {
  const { models: _models, image_config: imageConfig, ...body } = request
  body.model = target.upstreamModel
  body.messages = writeHistory(request.messages, dialect)
  if (request.stream === true && !dialect.alwaysCounts) {
    // The ledger needs the token counts even when the caller does not ask for them.
    body.stream_options = { ...request.stream_options, include_usage: true }
  }
  const notes: Notes = { problems: [], warnings: [] }
  if (imageConfig !== undefined) {
    notes.warnings.push(dropped('image_config', imageConfig, 'Only image models have it.'))
  }
  const draft: Draft = { request, target, dialect, body }
  if (!target.model.undescribed) adjustToModel(draft, notes)
  adjustToDialect(draft, notes)
  return { body, ...notes }
}

/** Applies what the catalog knows about the model. */
function adjustToModel({ request, target, dialect, body }: Draft, notes: Notes): void {
  const { row } = target.model
  const { reasoning, accepts_temperature: takesSampling } = row.capabilities
  const { reasoning_effort: effort } = request
  if (takesSampling === false) {
    const freed = effort === 'none' && dialect.samplingWithoutReasoning?.test(target.upstreamModel)
    if (!freed)
      for (const field of sampling) drop(field, body, notes, `${row.id} does not take it.`)
  }
  const most = row.temperature_max
  if (most !== undefined && typeof body['temperature'] === 'number' && body['temperature'] > most) {
    const reason = `The temperature of ${row.id} is at most ${most}.`
    notes.warnings.push({
      param: 'temperature',
      requested: body['temperature'],
      applied: most,
      reason,
    })
    body['temperature'] = most
  }
  if (!reasoning && effort === 'none') delete body['reasoning_effort']
  if (!reasoning) drop('reasoning_effort', body, notes, `${row.id} does not reason.`)
  const field = row.max_tokens_field
  if (field === undefined) return
  const other = field === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  if (body[other] === undefined) return
  body[field] = request.max_completion_tokens ?? request.max_tokens
  delete body[other]
}

/** Applies the vendor's deviations from OpenAI. */
function adjustToDialect({ request, target, dialect, body }: Draft, notes: Notes): void {
  const { id } = target.provider
  for (const field of dialect.without ?? []) drop(field, body, notes, `${id} does not take it.`)
  if (dialect.withoutWhenReasoning && target.model.row.capabilities.reasoning) {
    const reason = `Models of ${id} that reason do not take it.`
    for (const field of dialect.withoutWhenReasoning) drop(field, body, notes, reason)
  }
  for (const [field, name] of Object.entries(dialect.renamed ?? {})) {
    if (body[field] === undefined) continue
    body[name] = body[field]
    delete body[field]
  }
  if (dialect.oneChoice && (request.n ?? 1) > 1) {
    notes.problems.push({ param: 'n', message: `${id} gives one answer a call.` })
  }
  if (dialect.takesBack !== undefined && !dialect.takesCacheControl) {
    delete body['cache_control']
    if (request.tools !== undefined) body['tools'] = request.tools.map(withoutMark)
  }
  if (dialect.alwaysCounts) delete body['stream_options']
  if (dialect.noDeveloper && request.messages.some(({ role }) => role === 'developer')) {
    body.messages = body.messages.map((message) =>
      message.role === 'developer' ? { ...message, role: 'system' } : message,
    )
  }
  if (dialect.requiredToolChoice) adjustToolChoice(dialect.requiredToolChoice, id, body, notes)
  adjustToTools(dialect.toolReasoning?.(target.upstreamModel) ?? 'free', target, body, notes)
  const offered = dialect.efforts?.(target.upstreamModel)
  if (offered) adjustEffort(offered, target, body, notes)
  if (dialect.reasoning) adjustReasoning(dialect.reasoning, id, body, notes)
  if (dialect.noJsonSchema) adjustFormat(request, id, body, notes)
}

function drop(field: Field, body: Body, { warnings }: Notes, reason: string): void {
  const value = body[field]
  if (value === undefined) return
  delete body[field]
  if (!isIdle(field, value)) warnings.push(dropped(field, value, reason))
}

function adjustToolChoice(
  required: 'auto' | 'any',
  id: string,
  body: Body,
  { warnings }: Notes,
): void {
  const choice = body['tool_choice']
  const named = typeof choice === 'object' && choice !== null
  if (required === 'any') {
    if (choice === 'required') body['tool_choice'] = 'any'
    return
  }
  if (choice !== 'required' && !named) return
  const reason = `${id} lets the model choose whether it calls a tool.`
  warnings.push({ param: 'tool_choice', requested: choice, applied: 'auto', reason })
  body['tool_choice'] = 'auto'
}

const efforts: readonly ReasoningEffort[] = [
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
]

/** Replaces an effort by the nearest one offered; of two equally near, the higher. */
function adjustEffort(
  offered: readonly ReasoningEffort[],
  { model: { row } }: Target,
  body: Body,
  { warnings }: Notes,
): void {
  // Copied from the request, or set by this file.
  const requested = body['reasoning_effort'] as ReasoningEffort | null | undefined
  if (requested === undefined || requested === null || offered.includes(requested)) return
  const distance = (effort: ReasoningEffort) =>
    Math.abs(efforts.indexOf(effort) - efforts.indexOf(requested))
  const applied = offered.reduce((best, one) => (distance(one) <= distance(best) ? one : best))
  body['reasoning_effort'] = applied
  const reason = `${row.id} has the efforts ${offered.join(', ')}.`
  warnings.push({ param: 'reasoning_effort', requested, applied, reason })
}

function adjustToTools(how: ToolReasoning, { model }: Target, body: Body, notes: Notes): void {
  const tools = body['tools']
  if (how === 'free' || !Array.isArray(tools) || tools.length === 0) return
  const { id } = model.row
  if (how === 'apart') {
    const message = `${id} takes tools in the Responses API alone. Choose another model.`
    notes.problems.push({ param: 'tools', message })
    return
  }
  const requested = body['reasoning_effort'] ?? null
  if (requested === 'none' || (requested === null && how === 'quiet')) return
  body['reasoning_effort'] = 'none'
  const reason = `With tools ${id} reasons in the Responses API alone.`
  notes.warnings.push({ param: 'reasoning_effort', requested, applied: 'none', reason })
}

function adjustReasoning(
  reasoning: (enabled: boolean) => object,
  id: string,
  body: Body,
  { warnings }: Notes,
): void {
  const effort = body['reasoning_effort']
  delete body['reasoning_effort']
  if (effort === undefined || effort === null) return
  Object.assign(body, reasoning(effort !== 'none'))
  if (effort === 'none') return
  const reason = `${id} can only switch reasoning on or off; it has no efforts.`
  warnings.push({ param: 'reasoning_effort', requested: effort, applied: 'on', reason })
}

function adjustFormat(request: ChatRequest, id: string, body: Body, { warnings }: Notes): void {
  const format = request.response_format
  if (format?.type !== 'json_schema') return
  const content = jsonInWords(format.json_schema.schema ?? {})
  body.messages = [{ role: 'system', content }, ...body.messages]
  body['response_format'] = { type: 'json_object' }
  const reason = `${id} is asked for the schema in words; it does not enforce it.`
  warnings.push({
    param: 'response_format',
    requested: 'json_schema',
    applied: 'json_object',
    reason,
  })
}
