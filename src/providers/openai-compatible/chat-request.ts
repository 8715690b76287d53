import type { ChatRequest } from '../../core/chat/chat.ts'
import type { Target } from '../../core/model.ts'
import { jsonInWords, type Notes, type WrittenChat } from '../wire/fields.ts'
import { functionsOnly, type FunctionsOnly } from '../wire/function-tools.ts'
import type { Abilities, ChatDialect } from './dialect.ts'
import { drop, leaveOut, type Body, type Draft } from './draft.ts'
import { needsSearch, refuseSearch } from '../wire/web-search.ts'
import { writeHistory, withoutCacheControl } from './history.ts'
import { adjustThinking } from './thinking.ts'
import type { components } from '../../../generated/types.ts'

const sampling = [
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
] as const

/** Translates the canonical request to a vendor's dialect, without the gateway's own fields. */
export function writeChat(
  original: ChatRequest,
  target: Target,
  dialect: ChatDialect,
): WrittenChat<Body> {
  const isOpen = dialect.takesBack === undefined
  const whole: FunctionsOnly | WholeRequest =
    isOpen || dialect.customTools === true
      ? { request: original, problems: [], warnings: [] }
      : functionsOnly(original, target.provider.id)
  const { request, problems, warnings } = whole
  const { models: _models, ...body } = request
  body.model = target.upstreamModel
  if (needsSearch(request, target)) {
    refuseSearch(request, target, { problems, warnings })
    leaveOut('web_search_options', body)
  }
  const abilities = abilitiesOf(target, dialect)
  const draft: Draft = { request, target, dialect, abilities, body, problems, warnings }
  body.messages = writeHistory(request.messages, draft)
  if (request.stream === true && !dialect.alwaysCounts) {
    // The ledger needs the token counts even when the caller does not ask for them.
    body.stream_options = { ...request.stream_options, include_usage: true }
  }
  if (!target.model.undescribed || dialect.takesImageConfig !== true) {
    drop('image_config', 'Only image models support it.', draft)
  }
  adjustToModel(draft)
  if (!isOpen) {
    adjustTools(draft)
    adjustStops(draft)
  }
  adjustThinking(draft)
  adjustToDialect(draft)
  return { body, problems, warnings }
}

type WholeRequest = { request: ChatRequest } & Notes

/** The abilities in the catalog, or else by the name of the model. */
export function abilitiesOf({ model, provider, upstreamModel }: Target, dialect: ChatDialect) {
  const { row, undescribed } = model
  if (!undescribed && row.chat !== undefined) return row.chat
  // At another provider than its own, the name of a model may say nothing, such as that of a deployment.
  const isElsewhere = !undescribed && row.provider !== provider.id
  const names = [...(isElsewhere ? [row.upstream_model] : []), upstreamModel]
  return names
    .map((name) => dialect.families?.find(([pattern]) => pattern.test(name))?.[1])
    .find((abilities) => abilities !== undefined)
}

function adjustToModel(draft: Draft): void {
  const { target, abilities, body, request, warnings } = draft
  const { row, undescribed } = target.model
  for (const field of abilities?.without ?? [])
    drop(field, `${row.id} does not accept this parameter.`, draft)
  adjustLimit(draft)
  if (undescribed) return
  if (row.capabilities['accepts_temperature'] === false && !samples(abilities, request)) {
    for (const field of sampling) drop(field, `${row.id} does not accept this parameter.`, draft)
  }
  const most = row.temperature_max
  const temperature = body['temperature']
  if (most === undefined || typeof temperature !== 'number' || temperature <= most) return
  const reason = `The temperature of ${row.id} is at most ${most}.`
  warnings.push({ param: 'temperature', requested: temperature, applied: most, reason })
  body['temperature'] = most
}

function samples(abilities: Abilities | undefined, { reasoning_effort: effort }: ChatRequest) {
  return effort === 'none' && abilities?.samples_without_thinking === true
}

/** Sends the token limit under the one name that the model expects; vendors reject both names together. */
function adjustLimit({ request, target, dialect, body, warnings }: Draft): void {
  const { row, undescribed } = target.model
  const own = undescribed ? undefined : row.max_tokens_field
  // The name in the catalog is that of the chat API.
  const isTaken = own !== undefined && dialect.only?.has(own) !== false
  const field = isTaken ? own : dialect.limit
  if (field === undefined) return
  const { max_tokens: old, max_completion_tokens: limit } = request
  const applied = limit ?? old
  leaveOut(field === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens', body)
  if (applied === undefined || applied === null) return
  body[field] = applied
  if (old === undefined || old === null || old === applied) return
  const reason = 'max_completion_tokens takes precedence.'
  warnings.push({ param: 'max_tokens', requested: old, applied, reason })
}

function adjustToDialect(draft: Draft): void {
  const { target, dialect, body } = draft
  const { id } = target.provider
  const reason = `${dialect.name ?? id} does not accept this parameter.`
  if (dialect.withoutWhenReasoning && target.model.row.capabilities.reasoning) {
    for (const field of dialect.withoutWhenReasoning) {
      drop(field, `Reasoning models of ${id} do not accept it.`, draft)
    }
  }
  if (dialect.countedLogprobs) countLogprobs(draft)
  if (dialect.noJsonSchema || dialect.wantsSchema) adjustFormat(draft)
  for (const field in dialect.values) {
    const value = body[field]
    if (typeof value !== 'string' || dialect.values[field]!.includes(value)) continue
    drop(field, `${id} accepts ${dialect.values[field]!.join(', ')}.`, draft)
  }
  for (const field in dialect.renamed) {
    if (body[field] === undefined) continue
    body[dialect.renamed[field]!] = body[field]
    leaveOut(field, body)
  }
  if (dialect.alwaysCounts) leaveOut('stream_options', body)
  if (dialect.takesBack !== undefined && !dialect.takesCacheControl) leaveOut('cache_control', body)
  for (const field of dialect.without ?? []) drop(field, reason, draft)
  if (dialect.only === undefined) return
  for (const field in body) if (!dialect.only.has(field)) drop(field, reason, draft)
}

/** Removes stop sequences that are empty or exceed the number that the vendor accepts. */
function adjustStops({ body, target, dialect, warnings }: Draft): void {
  // `body` is untyped; its `stop` has the contract's type.
  const stop = body['stop'] as ChatRequest['stop']
  if (stop === undefined || stop === null) return
  const { listed = false, max = Infinity } = dialect.stops ?? {}
  const stops = typeof stop === 'string' ? [stop] : stop
  const filled = stops.filter((one) => one !== '')
  const applied = filled.slice(0, max)
  if (applied.length === 0) leaveOut('stop', body)
  else if (typeof stop !== 'string' || listed) body['stop'] = applied
  if (applied.length === stops.length) return
  const { id } = target.provider
  const reason =
    filled.length < stops.length
      ? `${id} accepts no empty stop sequence.`
      : `${id} takes ${max} stop.`
  const left = applied.length === 0 ? null : applied
  warnings.push({ param: 'stop', requested: stop, applied: left, reason })
}

function countLogprobs({ request, body }: Draft): void {
  leaveOut('top_logprobs', body)
  leaveOut('logprobs', body)
  if (request.logprobs === true) body['logprobs'] = request.top_logprobs || 1
}

/** Describes the schema in the prompt if the vendor cannot enforce schemas. */
function adjustFormat({ request, target, dialect, body, warnings }: Draft): void {
  const format = request.response_format
  if (format?.type !== 'json_schema') return
  const { schema } = format.json_schema
  if (!dialect.noJsonSchema && schema !== undefined) return
  body['response_format'] = { type: 'json_object' }
  if (schema === undefined && !dialect.noJsonSchema) return
  const content = jsonInWords(schema ?? {})
  body.messages = [{ role: 'system', content }, ...body.messages]
  const reason = `${target.provider.id} cannot enforce the schema; the system prompt asks for it.`
  warnings.push({
    param: 'response_format',
    requested: 'json_schema',
    applied: 'json_object',
    reason,
  })
}

type Tool = components['schemas']['Tool']

function adjustTools(draft: Draft): void {
  const { request, dialect, body } = draft
  const { tools } = request
  if (tools === undefined) return
  const given = dialect.takesCacheControl ? tools : tools.map(withoutCacheControl)
  body['tools'] = dialect.wantsParameters ? given.map(withParameters) : given
  if (dialect.requiredToolChoice) adjustToolChoice(dialect.requiredToolChoice, draft)
}

/** Adds an empty parameter schema, which some vendors require. */
function withParameters(tool: Tool): Tool {
  if (tool.type !== 'function') return tool
  const { strict, ...rest } = tool.function
  const parameters = { type: 'object', properties: {} }
  const written = { parameters, ...rest, ...(typeof strict === 'boolean' ? { strict } : {}) }
  return { ...tool, function: written }
}

function adjustToolChoice(required: 'auto' | 'any', { target, body, warnings }: Draft): void {
  const choice = body['tool_choice']
  if (required === 'any') {
    if (choice === 'required') body['tool_choice'] = 'any'
    return
  }
  if (choice === 'none') {
    const reason = `${target.provider.id} has no tool_choice none, so the tools were not sent.`
    warnings.push({ param: 'tool_choice', requested: choice, applied: null, reason })
    leaveOut('tools', body)
    leaveOut('tool_choice', body)
    return
  }
  const isNamed = typeof choice === 'object' && choice !== null
  if (choice !== 'required' && !isNamed) return
  const reason = `${target.provider.id} cannot force a tool call.`
  warnings.push({ param: 'tool_choice', requested: choice, applied: 'auto', reason })
  body['tool_choice'] = 'auto'
}
