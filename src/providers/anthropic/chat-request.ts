import type { Tool, ToolUnion } from '@anthropic-ai/sdk/resources/messages'
import type { ChatRequest } from '../../core/chat/chat.ts'
import { hasDefaultValue } from '../../core/chat/default-values.ts'
import { searchDemand } from '../../core/chat/web-search.ts'
import { dropped, type Target } from '../../core/model.ts'
import {
  jsonInWords,
  maxTokensOf,
  reportIgnored,
  schemaOf,
  stopsOf,
  type Notes,
  type WrittenChat,
} from '../wire/fields.ts'
import { functionsOnly, type FunctionRequest } from '../wire/function-tools.ts'
import { liveSearchOf, locationOf } from '../wire/web-search.ts'
import { cachedUpTo, writeMessages } from './messages.ts'
import { narrowSchema, type NarrowSchema } from './schema.ts'
import { writeThinking, type WireRequest } from './thinking.ts'

type ChatTool = NonNullable<FunctionRequest['tools']>[number]

const toolName = /^[\w-]+$/
const maxTokensUsual = 4096
const temperatureMax = 1

/** Translates the canonical request to the Messages API (docs/vendors.md#anthropic-request). */
export function writeChat(original: ChatRequest, target: Target): WrittenChat<WireRequest> {
  const { request, ...notes } = functionsOnly(original, 'Anthropic')
  const own = ['parallel_tool_calls', 'user', 'safety_identifier']
  reportIgnored(request, own, 'Anthropic', notes)
  const choiceParam = original.function_call === undefined ? 'tool_choice' : 'function_call'
  if ((request.n ?? 1) > 1) {
    notes.problems.push({ param: 'n', message: 'Anthropic returns one answer per call.' })
  }
  const { system, messages } = writeMessages(request.messages, target, notes)
  const format = writeFormat(request, notes)
  const words = (format?.words ?? []).map((text) => ({ type: 'text' as const, text }))
  const instructions = [...system, ...words]
  const stops = stopsOf(request, refusedStop, notes)
  const body: WireRequest = {
    model: target.upstreamModel,
    max_tokens: maxTokensOf(request, notes) ?? target.model.row.max_output_tokens ?? maxTokensUsual,
    messages,
    ...(instructions.length > 0 ? { system: instructions } : {}),
    ...(stops.length > 0 ? { stop_sequences: stops } : {}),
    ...metadataOf(request, notes),
    ...(request.stream === true ? { stream: true } : {}),
    ...writeTools(request, target, choiceParam, notes),
    ...cachedUpTo(request, '', notes),
  }
  if (format?.schema !== undefined) {
    body.output_config = { format: { type: 'json_schema', schema: format.schema } }
  }
  writeThinking(request, target, body, notes)
  writeSampling(request, target, body, notes)
  return { body, ...notes }
}

function refusedStop(stop: string): string | undefined {
  return stop.trim() === '' ? 'Anthropic accepts no stop sequence of white space alone.' : undefined
}

/** The id of the end user: OpenAI's newer field `safety_identifier`, or else `user`. */
function metadataOf(request: ChatRequest, { warnings }: Notes): Pick<WireRequest, 'metadata'> {
  // The contract does not list `safety_identifier`, so the value may have any type.
  const { safety_identifier: newer } = request as { safety_identifier?: unknown }
  const { user } = request
  if (typeof newer !== 'string') {
    if (!hasDefaultValue('safety_identifier', newer)) {
      warnings.push(dropped('safety_identifier', newer, 'It must be a string.'))
    }
    return user === undefined ? {} : { metadata: { user_id: user } }
  }
  if (user !== undefined && user !== newer) {
    warnings.push(dropped('user', user, 'safety_identifier takes precedence.'))
  }
  return { metadata: { user_id: newer } }
}

function writeTools(
  request: FunctionRequest,
  target: Target,
  choiceParam: string,
  notes: Notes,
): Pick<WireRequest, 'tools' | 'tool_choice'> {
  const { row } = target.model
  const { tools = [], tool_choice: choice, parallel_tool_calls: parallel } = request
  const written: ToolUnion[] = [
    ...tools.map((tool, index) => writeTool(tool, `tools[${index}]`, notes)),
    ...writeSearch(request, target, notes),
  ]
  if (written.length === 0) return {}
  if (choice === 'none') return { tools: written, tool_choice: { type: 'none' } }
  const single = parallel === false ? { disable_parallel_tool_use: true } : {}
  const forced = choice === 'required' || typeof choice === 'object'
  if (forced && row.capabilities['forced_tool_choice'] !== false) {
    return {
      tools: written,
      tool_choice:
        typeof choice === 'object'
          ? { type: 'tool', name: choice.function.name, ...single }
          : { type: 'any', ...single },
    }
  }
  if (forced) {
    const reason = `${row.id} cannot be forced to call a tool.`
    notes.warnings.push({ param: choiceParam, requested: choice, applied: 'auto', reason })
  }
  if (choice === undefined && parallel !== false) return { tools: written }
  return { tools: written, tool_choice: { type: 'auto', ...single } }
}

/** The tool that searches the web at Anthropic (docs/vendors.md#anthropic-search). */
function writeSearch(request: FunctionRequest, target: Target, notes: Notes): ToolUnion[] {
  const search = liveSearchOf(request, target, notes)
  if (search === undefined) return []
  const { allowed_domains: allowed, blocked_domains: blocked } = search
  const param = 'web_search_options'
  if (request.tools?.some((tool) => tool.function.name === searchName)) {
    const message = `A function cannot have the name of the search, '${searchName}'. Rename it.`
    notes.problems.push({ param, message, code: 'invalid_value' })
  }
  if (allowed !== undefined && blocked !== undefined) {
    const message = 'Anthropic takes allowed or blocked domains, not both.'
    notes.problems.push({ param: `${param}.blocked_domains`, message })
  }
  if (search.search_context_size != null && search.search_context_size !== 'medium') {
    const reason = 'Anthropic decides how much of what is found the model reads.'
    const size = search.search_context_size
    notes.warnings.push(dropped(`${param}.search_context_size`, size, reason))
  }
  return [
    {
      type: 'web_search_20250305',
      name: searchName,
      max_uses: searchDemand(request),
      ...(allowed === undefined ? {} : { allowed_domains: allowed }),
      ...(blocked === undefined ? {} : { blocked_domains: blocked }),
      ...locationOf(search, notes),
    },
  ]
}

const searchName = 'web_search'

function writeTool(tool: ChatTool, path: string, notes: Notes): Tool {
  const { name, description, parameters, strict } = tool.function
  const param = `${path}.function`
  if (!toolName.test(name)) {
    const message = "Anthropic accepts names of letters, digits, '_' and '-'."
    notes.problems.push({ param: `${param}.name`, message, code: 'invalid_value' })
  }
  const inputSchema = { type: 'object' as const, properties: {}, ...parameters }
  const narrow = strict === true ? narrowSchema(inputSchema) : undefined
  if (narrow !== undefined) warnOfMoved(narrow, `${param}.parameters`, notes)
  else if (strict === true) {
    notes.warnings.push(dropped(`${param}.strict`, true, 'Anthropic cannot enforce this schema.'))
  }
  return {
    name,
    ...(description === undefined ? {} : { description }),
    ...(narrow === undefined
      ? { input_schema: inputSchema }
      : { input_schema: { ...narrow.schema, type: 'object' }, strict: true }),
    ...cachedUpTo(tool, path, notes),
  }
}

function warnOfMoved({ moved }: NarrowSchema, param: string, { warnings }: Notes): void {
  if (moved.length === 0) return
  const reason = 'Anthropic does not enforce these keywords; they were moved to the description.'
  warnings.push({ param, requested: moved.join(', '), applied: 'description', reason })
}

type Format =
  | { schema: Record<string, unknown>; words?: never }
  | { words: string[]; schema?: never }

/** A format that Anthropic cannot enforce is described in the system prompt. */
function writeFormat({ response_format: format }: ChatRequest, notes: Notes): Format | undefined {
  if (format === undefined || format.type === 'text') return undefined
  const schema = schemaOf(format)
  const narrow = schema === undefined ? undefined : narrowSchema(schema)
  if (narrow !== undefined) {
    warnOfMoved(narrow, 'response_format.json_schema.schema', notes)
    return { schema: narrow.schema }
  }
  const reason = 'Anthropic cannot enforce this format; the system prompt asks for it.'
  const param = 'response_format'
  notes.warnings.push({ param, requested: format.type, applied: 'system', reason })
  return { words: [jsonInWords(schema)] }
}

/** Sends temperature or top_p, or none of them with thinking (docs/vendors.md#anthropic-versions). */
function writeSampling(
  request: ChatRequest,
  { model }: Target,
  body: WireRequest,
  { warnings }: Notes,
): void {
  const { temperature, top_p: topP } = request
  const { row } = model
  const refused =
    row.capabilities['accepts_temperature'] === false
      ? `${row.id} does not accept this parameter.`
      : body.thinking?.type === 'enabled' || body.thinking?.type === 'adaptive'
        ? 'Anthropic does not accept this parameter together with reasoning.'
        : undefined
  if (temperature !== undefined && temperature !== null) {
    const applied = Math.min(temperature, row.temperature_max ?? temperatureMax)
    if (refused === undefined) body.temperature = applied
    if (refused !== undefined && !hasDefaultValue('temperature', temperature)) {
      warnings.push(dropped('temperature', temperature, refused))
    } else if (refused === undefined && applied !== temperature) {
      const reason = `The temperature of ${row.id} is at most ${applied}.`
      warnings.push({ param: 'temperature', requested: temperature, applied, reason })
    }
  }
  if (topP === undefined || hasDefaultValue('top_p', topP)) return
  const reason = refused ?? (body.temperature === undefined ? undefined : besideTemperature)
  if (reason === undefined) body.top_p = topP!
  else warnings.push(dropped('top_p', topP, reason))
}

const besideTemperature = 'Anthropic accepts temperature or top_p, not both.'
