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

/**
 * Completes a chat body: a tool result needs a preceding call, a tool choice needs tools, and an assistant
 * message needs a following question.
 */
export function inContext(body: Record<string, unknown>): object {
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
