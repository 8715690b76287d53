import { checkSchema } from './anthropic-schema.ts'
import type { ReceivedRequest, ScriptedAnswer } from './upstream.ts'
import { anthropicEvents, message, signature } from './anthropic-answers.ts'
import { checkSearches, checkSearchTool } from './anthropic-searches.ts'
import {
  checkEffort,
  checkThinking,
  checkThoughts,
  shownTo,
  type Refuse,
} from './anthropic-thinking.ts'
import { allowOnly, Refused, usualCounts, vendorDouble, type Spoken } from './spoken.ts'

type Body = Record<string, unknown>
type Message = { role: string; content: unknown }

export const anthropicKey = 'sk-ant-0123456789abcdef'

const invalid = 'invalid_request_error'
const fields = [
  'model',
  'max_tokens',
  'messages',
  'system',
  'stop_sequences',
  'stream',
  'metadata',
  'temperature',
  'top_p',
  'thinking',
  'output_config',
  'tools',
  'tool_choice',
  'cache_control',
  'top_k',
  'service_tier',
]
/** Tools that the client runs, with the one name that each has. */
const ownTools: Readonly<Record<string, { name: string; fields: string[] }>> = {
  bash_20250124: { name: 'bash', fields: [] },
  text_editor_20250728: { name: 'str_replace_based_edit_tool', fields: ['max_characters'] },
  memory_20250818: { name: 'memory', fields: [] },
  computer_20251124: { name: 'computer', fields: ['display_width_px', 'display_height_px'] },
}
const toolFields = ['type', 'name', 'description', 'input_schema', 'strict', 'cache_control']
/** Fields that need a feature flag in the header `anthropic-beta`. */
const betaFields = {
  context_management: 'context-management-',
  defer_loading: 'advanced-tool-use-',
}
const blockFields: Record<string, string[]> = {
  text: ['type', 'text', 'citations', 'cache_control'],
  image: ['type', 'source', 'cache_control'],
  document: ['type', 'source', 'title', 'cache_control'],
  tool_use: ['type', 'id', 'name', 'input', 'cache_control'],
  thinking: ['type', 'thinking', 'signature'],
  redacted_thinking: ['type', 'data'],
  tool_result: ['type', 'tool_use_id', 'content', 'is_error', 'cache_control'],
  server_tool_use: ['type', 'id', 'name', 'input', 'cache_control'],
  web_search_tool_result: ['type', 'tool_use_id', 'content', 'cache_control'],
}
const withoutSampling = /claude-(?:opus-4-[78]|opus-5|sonnet-5|haiku-5|fable)/
const choosesItself = /claude-(?:(?:opus|sonnet)-5-5|fable-5-[12])/
const takesPrefill = /-4-5(?:-|$)/
/** Simulates Anthropic: refuses invalid requests with the vendor's errors, and answers valid ones with `say`. */
export function anthropicDouble(
  say: (body: Body) => Spoken,
): (request: ReceivedRequest) => ScriptedAnswer {
  return vendorDouble({
    check: (request) => check(countedCall(request)),
    refusal: ({ type, message }) => ({
      type: 'error',
      error: { type, message },
      request_id: 'req_1',
    }),
    answer: (request) => {
      const body = request.body as Body
      if (request.path === countPath)
        return { body: { input_tokens: (say(body).counts ?? usualCounts).input } }
      const spoken = shownTo(body, say(body))
      if (body['stream'] === true) return { pieces: anthropicEvents(spoken, String(body['model'])) }
      return { body: message(spoken, String(body['model'])) }
    },
  })
}

const countPath = '/v1/messages/count_tokens'
const countedFields = [
  'model',
  'messages',
  'system',
  'thinking',
  'output_config',
  'tools',
  'tool_choice',
  'cache_control',
]

/** The call whose input is counted; the request itself if it is a call. */
function countedCall(request: ReceivedRequest): ReceivedRequest {
  const { path, body } = request
  if (path !== countPath) return request
  allowOnly(body, countedFields, 'body', invalid)
  return { ...request, path: '/v1/messages', body: { ...body, max_tokens: 32_000 } }
}

function check({ path, method, headers, body }: ReceivedRequest): void {
  const refuse = (text: string) => {
    throw new Refused(400, invalid, text)
  }
  if (method !== 'POST' || path !== '/v1/messages') {
    throw new Refused(404, 'not_found_error', `${method} ${path}`)
  }
  if (headers['x-api-key'] !== anthropicKey) {
    throw new Refused(401, 'authentication_error', 'invalid x-api-key')
  }
  if (headers['anthropic-version'] !== '2023-06-01') refuse('anthropic-version: header is required')
  if (headers['content-type'] !== 'application/json') refuse('content-type')
  const betas = String(headers['anthropic-beta'] ?? '')
  const flagged = Object.entries(betaFields).flatMap(([name, beta]) =>
    betas.includes(beta) ? [name] : [],
  )
  allowOnly(body, [...fields, ...flagged], 'body', invalid)
  const { model, max_tokens: most, messages, temperature, top_p: topP, thinking } = body
  const { stop_sequences: stops = [], metadata = {}, output_config: output = {} } = body
  allowOnly(metadata, ['user_id'], 'metadata', invalid)
  checkMark(body, 'body')
  allowOnly(output, ['effort', 'format'], 'output_config', invalid)
  if ((stops as string[]).some((stop) => stop.trim() === '')) {
    refuse('stop_sequences: each stop sequence must contain non-whitespace')
  }
  if (typeof model !== 'string') refuse('model: Field required')
  if (typeof most !== 'number') refuse('max_tokens: Field required')
  if (!Array.isArray(messages) || messages.length === 0)
    refuse('messages: at least one is required')
  const sampled = temperature !== undefined || topP !== undefined
  if (sampled && withoutSampling.test(String(model))) {
    refuse('temperature: Extra inputs are not permitted')
  }
  if (typeof temperature === 'number' && temperature > 1) refuse('temperature: range: 0..1')
  if (temperature !== undefined && topP !== undefined) {
    refuse('`temperature` and `top_p` cannot both be specified for this model.')
  }
  checkThinking(thinking, body, refuse)
  checkEffort(output['effort'], body, refuse)
  if ((messages as Message[]).some(({ role }) => role === 'system')) {
    if (!betas.includes('mid-conversation-')) refuse('messages: Unexpected role "system".')
  }
  const turns = turnsOf(messages as Message[])
  checkMessages(turns, refuse)
  checkEnd(turns, String(model), refuse)
  checkThoughts(turns, thinking, refuse)
  for (const block of blocksOf(body['system'] ?? [])) {
    checkBlock(block, 'system', { where: 'system', refuse })
  }
  const { format } = output
  if (format !== undefined) {
    allowOnly(format, ['type', 'schema'], 'output_config.format', invalid)
    checkSchema(format['schema'], 'output_config.format.schema')
  }
  checkTools(body, flagged, refuse)
}

/** Newer models refuse a final assistant message; older ones refuse one that ends with white space. */
function checkEnd(messages: Message[], model: string, refuse: Refuse): void {
  const { role, content } = messages.at(-1)!
  if (role !== 'assistant') return
  if (!takesPrefill.test(model)) {
    refuse(
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    )
  }
  const text = String((content as Body[]).at(-1)!['text'])
  if (text !== text.trimEnd()) {
    refuse('messages: final assistant content cannot end with trailing whitespace')
  }
}

/** The turns of a conversation: consecutive messages of a role are one turn, notes of the system are none. */
function turnsOf(messages: Message[]): { role: string; content: Body[] }[] {
  const turns: { role: string; content: Body[] }[] = []
  for (const { role, content } of messages) {
    if (role === 'system') continue
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...blocksOf(content))
    else turns.push({ role, content: [...blocksOf(content)] })
  }
  return turns
}

function blocksOf(content: unknown): Body[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content as Body[])
}

function checkMessages(messages: Message[], refuse: Refuse): void {
  let open = new Set<unknown>()
  messages.forEach(({ role, content }, index) => {
    const where = `messages.${index}`
    if (role !== (index % 2 === 0 ? 'user' : 'assistant')) {
      refuse('messages: roles must alternate between "user" and "assistant"')
    }
    if (!Array.isArray(content) || content.length === 0) refuse(`${where}: must have content`)
    const blocks = content as Body[]
    for (const block of blocks) checkBlock(block, role, { where, refuse })
    const results = blocks.filter(({ type }) => type === 'tool_result')
    if (blocks.slice(0, results.length).some(({ type }) => type !== 'tool_result')) {
      refuse(`${where}: tool_result blocks must come first`)
    }
    for (const { tool_use_id: id } of results) {
      if (!open.delete(id)) refuse(`${where}: unexpected tool_use_id found in tool_result blocks`)
    }
    if (open.size > 0) refuse('tool_use ids were found without tool_result blocks')
    checkSearches(blocks, where, refuse)
    open = new Set(blocks.flatMap(({ type, id }) => (type === 'tool_use' ? [id] : [])))
  })
  if (open.size > 0) refuse('tool_use ids were found without tool_result blocks')
}

type Place = { where: string; refuse: Refuse }

function checkBlock(block: Body, role: string, { where, refuse }: Place): void {
  const type = String(block['type'])
  allowOnly(block, blockFields[type] ?? [], where, invalid)
  checkMark(block, where)
  const shows = type === 'image' || type === 'document'
  if (shows && role === 'assistant') refuse(`${where}: ${type} blocks are not permitted here`)
  if (type === 'document') checkDocument(block['source'] as Body, where, refuse)
  if (type === 'image') checkSource(block['source'], where, refuse)
  if (type === 'text' && String(block['text']).trim() === '') {
    refuse('messages: text content blocks must contain non-whitespace text')
  }
  if (type === 'thinking' && block['signature'] !== signature) {
    refuse(`${where}: Invalid \`signature\` in \`thinking\` block`)
  }
  if (type === 'tool_use' && !/^[a-zA-Z0-9_-]+$/.test(String(block['id']))) {
    refuse(`${where}: String should match pattern '^[a-zA-Z0-9_-]+$'`)
  }
  if (type !== 'tool_result') return
  for (const inner of blocksOf(block['content'] ?? [])) checkBlock(inner, role, { where, refuse })
}

function checkMark({ cache_control: mark }: Body, where: string): void {
  if (mark !== undefined) allowOnly(mark, ['type', 'ttl'], `${where}.cache_control`, invalid)
}

function checkSource(source: unknown, where: string, refuse: Refuse): void {
  allowOnly(source, ['type', 'media_type', 'data', 'url'], `${where}.source`, invalid)
  const { type, media_type: mediaType, url } = source
  if (type === 'url') {
    if (!String(url).startsWith('https://')) refuse('Only HTTPS URLs are supported.')
  } else if (!['image/jpeg', 'image/png', 'image/gif', 'image/webp'].includes(String(mediaType))) {
    refuse(`${where}.source.media_type: Input should be 'image/jpeg', 'image/png', …`)
  } else if (String(source['data']).length > 10_485_760) {
    refuse(`${where}.source.base64: image exceeds 10 MB maximum`)
  }
}

function checkDocument(source: Body, where: string, refuse: Refuse): void {
  allowOnly(source, ['type', 'media_type', 'data'], `${where}.source`, invalid)
  const types: Record<string, string> = { base64: 'application/pdf', text: 'text/plain' }
  if (source['media_type'] !== types[String(source['type'])]) refuse(`${where}.source.media_type`)
}

function checkTools(
  { tools, tool_choice: choice, model }: Body,
  flagged: string[],
  refuse: Refuse,
): void {
  for (const tool of (tools ?? []) as Body[]) {
    if (tool['type'] === 'web_search_20250305') {
      checkSearchTool(tool, refuse)
      continue
    }
    const own = ownTools[String(tool['type'])]
    if (own !== undefined) {
      allowOnly(tool, ['type', 'name', 'cache_control', ...own.fields], 'tools.0', invalid)
      if (tool['name'] !== own.name) refuse(`tools.0.${String(tool['type'])}.name`)
      continue
    }
    allowOnly(tool, [...toolFields, ...flagged], 'tools.0', invalid)
    checkMark(tool, 'tools.0')
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(String(tool['name']))) {
      refuse("tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
    }
    const schema = tool['input_schema'] as Body | undefined
    if (schema?.['type'] !== 'object') refuse('tools.0.input_schema.type: Field required')
    if (tool['strict'] === true) checkSchema(schema, 'tools.0.input_schema')
  }
  if (choice === undefined) return
  allowOnly(choice, ['type', 'name', 'disable_parallel_tool_use'], 'tool_choice', invalid)
  const names = ((tools ?? []) as Body[]).map(({ name }) => name)
  if (choice['type'] === 'tool' && !names.includes(choice['name'])) {
    refuse(`Tool '${String(choice['name'])}' not found in provided tools`)
  }
  const forced = choice['type'] === 'any' || choice['type'] === 'tool'
  if (forced && choosesItself.test(String(model))) refuse('tool_choice: not supported')
}
