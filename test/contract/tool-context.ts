import { pixel } from '../support/pixel.ts'

export const toolCall = {
  id: 'call_1',
  type: 'function',
  function: { name: 'paint', arguments: '{}' },
}
const functions = [{ name: 'paint' }]
const paints = [
  { type: 'function', function: functions[0] },
  { type: 'custom', custom: functions[0] },
]

/** Completes an allowed body, so that only the probed value decides. */
export function inContext(operationId: string, body: Record<string, unknown>): object {
  if ('input' in body && operationId.includes('Response')) return inResponseContext(body)
  if (typeof body['partial_images'] === 'number') return { stream: true, ...body }
  if (!('messages' in body)) return body
  return operationId === 'createChatCompletion' ? inChatContext(body) : inMessageContext(body)
}

/**
 * Completes a chat body: a tool result needs a preceding call, a tool choice needs tools, and an assistant
 * message needs a following question.
 */
function inChatContext(body: Record<string, unknown>): object {
  const { messages: list, tool_choice: choice, function_call: called } = body
  const tools = choice === 'required' || typeof choice === 'object' ? { tools: paints } : {}
  const given = typeof called === 'object' ? { functions } : {}
  const role: unknown = Array.isArray(list) ? list[0]?.role : undefined
  const before =
    role === 'tool'
      ? [{ role: 'assistant', tool_calls: [toolCall] }]
      : role === 'function'
        ? [{ role: 'assistant', function_call: toolCall.function }]
        : []
  const following = role === 'assistant' ? [{ role: 'user', content: 'Paint a fox' }] : []
  return { ...tools, ...given, ...body, messages: [...before, ...(list as object[]), ...following] }
}

const flatPaints = [
  ...paints.map(({ type }) => ({ type, name: 'paint' })),
  { type: 'image_generation' },
  { type: 'web_search' },
]
const counterparts: Record<string, object> = {
  function_call: { type: 'function_call_output', output: 'done' },
  custom_tool_call: { type: 'custom_tool_call_output', output: 'done' },
  function_call_output: { type: 'function_call', name: 'paint', arguments: '{}' },
  custom_tool_call_output: { type: 'custom_tool_call', name: 'paint', input: '' },
  tool_search_call: { type: 'tool_search_output', tools: [] },
  tool_search_output: { type: 'tool_search_call', arguments: {} },
  apply_patch_call: { type: 'apply_patch_call_output' },
  apply_patch_call_output: {
    type: 'apply_patch_call',
    operation: { type: 'delete_file', path: 'a' },
  },
  shell_call: { type: 'shell_call_output', output: [] },
  shell_call_output: { type: 'shell_call', action: { commands: [] } },
  local_shell_call: { type: 'local_shell_call_output', output: '' },
  local_shell_call_output: { type: 'local_shell_call', action: { type: 'exec', command: [] } },
}

/** Completes a body of the Responses API in the same way. */
function inResponseContext(body: Record<string, unknown>): object {
  const { input, model, tools: given, tool_choice: choice } = body
  const isChosen = choice === 'required' || typeof choice === 'object'
  const asked = given ?? (isChosen ? flatPaints : undefined)
  const tools = Array.isArray(asked) ? { tools: withImageModel(asked, model) } : {}
  const [item] = (Array.isArray(input) ? input : []) as Record<string, unknown>[]
  // An edit needs an image.
  if (item === undefined && given !== undefined) return { ...body, ...tools, input: [asksForEdit] }
  if (item === undefined) return { ...tools, ...body }
  const { type, call_id } = item
  const other = counterparts[String(type)]
  const made = other === undefined ? [] : [{ ...other, call_id }]
  const more = Array.isArray(item['tools']) ? { tools: withImageModel(item['tools'], model) } : {}
  const whole = { ...item, ...more }
  const both = String(type).endsWith('_output') ? [...made, whole] : [whole, ...made]
  return { ...body, ...tools, input: [...both, asksForEdit] }
}

const asksForEdit = {
  role: 'user',
  content: [
    { type: 'input_text', text: 'Paint a fox' },
    { type: 'input_image', image_url: pixel },
  ],
}

/** Probes of `model` have a language model, and other probes need an image model that supports their setting. */
function withImageModel(tools: readonly unknown[], asked: unknown): unknown[] {
  const model = asked === 'openrouter/any' ? 'zai/cogview-4' : 'gpt-image-2.6-sunburst'
  return tools.map((tool) => {
    const { type } = tool as { type?: unknown }
    return type === 'image_generation' ? { ...(tool as object), model } : tool
  })
}

type Block = { type?: unknown; tool_use_id?: unknown; id?: unknown }
const look = { name: 'paint' }
const use = { type: 'tool_use', id: toolCall.id, name: 'paint', input: {} }
const asksToPaint = { role: 'user', content: 'Paint a fox' }

/**
 * Completes a body of the Messages API: a result needs a preceding call, blocks of an answer the role of the
 * model and a following message, and a tool choice needs tools.
 */
function inMessageContext(body: Record<string, unknown>): object {
  const { messages: list, tool_choice: choice } = body
  const named = withSearchName(body['tools'])
  const tools = choice === undefined ? {} : { tools: [look] }
  if (!Array.isArray(list) || list.length === 0) return { ...tools, ...body, ...named }
  const [message] = list as [{ role?: unknown; content?: unknown } | null]
  const content: unknown = message?.content
  const blocks: (Block | null)[] = Array.isArray(content) ? (content as (Block | null)[]) : []
  const types = blocks.map((block) => block?.type)
  const isAnswer = types.some((type) => answerTypes.has(type))
  const first = isAnswer ? { ...message, role: 'assistant' } : message
  const calls = blocks.filter((block) => block?.type === 'tool_use')
  const ids = blocks.flatMap((block) => block?.tool_use_id ?? [])
  const before = types.includes('tool_result')
    ? [{ role: 'assistant', content: ids.map((id) => ({ ...use, id })) }]
    : []
  const results = calls.map((block) => ({ type: 'tool_result', tool_use_id: block?.id ?? 'x' }))
  const following = results.length > 0 ? [{ role: 'user', content: results }] : []
  const messages = [...before, first, ...list.slice(1), ...following, asksToPaint]
  return { ...tools, ...body, ...named, messages }
}

const answerTypes: ReadonlySet<unknown> = new Set([
  'thinking',
  'redacted_thinking',
  'tool_use',
  'server_tool_use',
  'web_search_tool_result',
])

/** The search of the web has one name. */
function withSearchName(tools: unknown): object {
  if (!Array.isArray(tools)) return {}
  return {
    tools: tools.map((tool: { type?: unknown; name?: unknown } | null) =>
      tool?.type === 'web_search_20250305' && tool.name === 'paint'
        ? { ...tool, name: 'web_search' }
        : tool,
    ),
  }
}
