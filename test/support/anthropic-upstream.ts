import { checkSchema } from './anthropic-schema.ts'
import type { ReceivedRequest, ScriptedAnswer } from './upstream.ts'
import { anthropicEvents, message, signature } from './anthropic-answers.ts'
import { allowOnly, Refused, vendorDouble, type Spoken } from './spoken.ts'

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
]
const toolFields = ['name', 'description', 'input_schema', 'strict', 'cache_control']
const blockFields: Record<string, string[]> = {
  text: ['type', 'text', 'cache_control'],
  image: ['type', 'source', 'cache_control'],
  document: ['type', 'source', 'title', 'cache_control'],
  tool_use: ['type', 'id', 'name', 'input'],
  thinking: ['type', 'thinking', 'signature'],
  redacted_thinking: ['type', 'data'],
  tool_result: ['type', 'tool_use_id', 'content', 'is_error'],
}
const withoutSampling = /claude-(?:opus-4-[78]|opus-5|sonnet-5|haiku-5|fable)/
const choosesItself = /claude-(?:(?:opus|sonnet)-5-5|fable-5-[12])/
const takesPrefill = /-4-5(?:-|$)/
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
/** Simulates Anthropic: refuses invalid requests with the vendor's errors, and answers valid ones with `say`. */
export function anthropicDouble(
  say: (body: Body) => Spoken,
): (request: ReceivedRequest) => ScriptedAnswer {
  return vendorDouble({
    check,
    refusal: ({ type, message }) => ({
      type: 'error',
      error: { type, message },
      request_id: 'req_1',
    }),
    answer: (request) => {
      const body = request.body as Body
      const spoken = say(body)
      if (body['stream'] === true) return { pieces: anthropicEvents(spoken, String(body['model'])) }
      return { body: message(spoken, String(body['model'])) }
    },
  })
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
  allowOnly(body, fields, 'body', invalid)
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
  checkMessages(messages as Message[], refuse)
  checkEnd(messages as Message[], String(model), refuse)
  checkThoughts(messages as Message[], thinking, refuse)
  for (const block of (body['system'] ?? []) as Body[]) {
    checkBlock(block, 'system', { where: 'system', refuse })
  }
  const { format } = output
  if (format !== undefined) {
    allowOnly(format, ['type', 'schema'], 'output_config.format', invalid)
    checkSchema(format['schema'], 'output_config.format.schema')
  }
  checkTools(body, refuse)
}

type Refuse = (text: string) => void

function checkThinking(thinking: unknown, body: Body, refuse: Refuse): void {
  if (thinking === undefined) return
  const { type } = thinking as Body
  const fields: Record<string, string[]> = {
    enabled: ['type', 'budget_tokens', 'display'],
    adaptive: ['type', 'display'],
  }
  allowOnly(thinking, fields[String(type)] ?? ['type'], 'thinking', invalid)
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

function checkEffort(effort: unknown, body: Body, refuse: Refuse): void {
  if (effort === undefined) return
  const { efforts } = generationOf(body)
  if (!efforts.includes(effort as string)) refuse('output_config.effort: Input should be one of …')
  const type = (body['thinking'] as Body | undefined)?.['type']
  const quiet = type === 'disabled' || type === 'between_tools'
  if (quiet && (effort === 'xhigh' || effort === 'max')) refuse('thinking: not with this effort')
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
  for (const inner of (block['content'] ?? []) as Body[]) checkBlock(inner, role, { where, refuse })
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
  }
}

/** With budgeted thinking, an assistant message with a tool call must start with its thinking block. */
function checkThoughts(messages: Message[], thinking: unknown, refuse: Refuse): void {
  if ((thinking as Body | undefined)?.['type'] !== 'enabled') return
  const blocks = (messages.findLast(({ role }) => role === 'assistant')?.content ?? []) as Body[]
  const types = blocks.map(({ type }) => String(type))
  if (types.includes('tool_use') && !types[0]!.endsWith('thinking')) {
    refuse(`Expected \`thinking\` or \`redacted_thinking\`, but found \`${types[0]}\`.`)
  }
}

function checkDocument(source: Body, where: string, refuse: Refuse): void {
  allowOnly(source, ['type', 'media_type', 'data'], `${where}.source`, invalid)
  const types: Record<string, string> = { base64: 'application/pdf', text: 'text/plain' }
  if (source['media_type'] !== types[String(source['type'])]) refuse(`${where}.source.media_type`)
}

function checkTools({ tools, tool_choice: choice, model }: Body, refuse: Refuse): void {
  for (const tool of (tools ?? []) as Body[]) {
    allowOnly(tool, toolFields, 'tools.0', invalid)
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
  const forced = choice['type'] === 'any' || choice['type'] === 'tool'
  if (forced && choosesItself.test(String(model))) refuse('tool_choice: not supported')
}
