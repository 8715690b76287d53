import { Refused } from '../spoken.ts'

export type Body = Record<string, unknown>

/** Request members that a vendor accepts, copied from its documentation; `rules` are further checks. */
export type ClosedChat = {
  /** URL or name of the vendor's document. */
  source: string
  fields: readonly string[]
  /** Unknown members are ignored, unless they are members of OpenAI's API that the vendor lacks. */
  ignoresUnknown?: true
  /** Accepts `max_tokens` and `max_completion_tokens` together. */
  takesBothLimits?: true
  messages: Readonly<Record<string, readonly string[]>>
  /** Members of content parts, by type. */
  parts: Readonly<Record<string, readonly string[]>>
  /** Members of tool calls and tools, by type. */
  calls: Readonly<Record<string, readonly string[]>>
  tools: Readonly<Record<string, readonly string[]>>
  choices: readonly string[]
  efforts?: (model: string) => readonly string[] | undefined
  rules?: readonly ((body: Body) => string | undefined)[]
}

/** The properties of OpenAI's CreateChatCompletionRequest (openai 7.55.0, 2026-11-22). */
export const openAiFields: readonly string[] = [
  'audio',
  'frequency_penalty',
  'function_call',
  'functions',
  'logit_bias',
  'logprobs',
  'max_completion_tokens',
  'max_tokens',
  'messages',
  'metadata',
  'modalities',
  'model',
  'moderation',
  'n',
  'parallel_tool_calls',
  'prediction',
  'presence_penalty',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'reasoning_effort',
  'response_format',
  'safety_identifier',
  'seed',
  'service_tier',
  'stop',
  'store',
  'stream',
  'stream_options',
  'temperature',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'user',
  'verbosity',
  'web_search_options',
]

/** Throws unless the vendor accepts the body. */
export function checkClosed(closed: ClosedChat, body: Body): void {
  const { fields, ignoresUnknown, messages, parts, calls, tools } = closed
  const strange = Object.keys(body).find(
    (name) => !fields.includes(name) && !(ignoresUnknown && !openAiFields.includes(name)),
  )
  if (strange !== undefined) refuse(`property '${strange}' is unsupported`)
  const hasBoth = body['max_tokens'] !== undefined && body['max_completion_tokens'] !== undefined
  if (hasBoth && closed.takesBothLimits !== true) {
    refuse('max_tokens and max_completion_tokens cannot both be set')
  }
  const called = new Set<unknown>()
  let open = new Set<unknown>()
  for (const [index, message] of listOf(body['messages']).entries()) {
    const where = `messages[${index}]`
    checkMembers(message, messages[String(message['role'])], where)
    const content = message['content']
    if (Array.isArray(content)) {
      if (content.length === 0) refuse(`${where}.content is empty`)
      for (const part of listOf(content)) {
        checkMembers(part, parts[String(part['type'])], `${where}.content`)
        if (message['role'] === 'tool' && part['type'] !== 'text')
          refuse(`Invalid value: '${String(part['type'])}'. Supported values are: 'text'.`)
      }
    } else if (typeof content !== 'string' && content !== null && content !== undefined) {
      refuse(`${where}.content is no text`)
    }
    if (message['tool_calls'] !== undefined && listOf(message['tool_calls']).length === 0) {
      refuse(`${where}.tool_calls is too short`)
    }
    for (const call of listOf(message['tool_calls'])) {
      checkMembers(call, calls[String(call['type'])], `${where}.tool_calls`)
      called.add(call['id'])
    }
    if (message['role'] === 'assistant') checkAnswer(message, where)
    if (message['role'] === 'tool') open.delete(message['tool_call_id'])
    else {
      checkResults(open)
      open = new Set(listOf(message['tool_calls']).map(({ id }) => id))
    }
    if (message['role'] === 'tool' && !called.has(message['tool_call_id'])) {
      refuse(`${where} must be a response to a preceding message with 'tool_calls'`)
    }
  }
  checkResults(open)
  if (body['tools'] !== undefined && listOf(body['tools']).length === 0)
    refuse('tools is too short')
  for (const tool of listOf(body['tools'])) checkMembers(tool, tools[String(tool['type'])], 'tools')
  checkChoice(closed, body)
  checkStops(body)
  const efforts = closed.efforts?.(String(body['model']))
  const effort = body['reasoning_effort'] as string | undefined
  if (efforts !== undefined && effort !== undefined && !efforts.includes(effort)) {
    refuse(`reasoning_effort '${effort}' is not supported with this model`)
  }
  for (const rule of closed.rules ?? []) {
    const words = rule(body)
    if (words !== undefined) refuse(words)
  }
}

function checkResults(open: ReadonlySet<unknown>): void {
  if (open.size === 0) return
  refuse(
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each " +
      `'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(', ')}`,
  )
}

function checkAnswer(message: Body, where: string): void {
  const { content, refusal, tool_calls: calls, function_call: called, audio } = message
  if (!content && !refusal && !calls && !called && !audio) refuse(`${where} has no content`)
}

function checkChoice({ choices }: ClosedChat, body: Body): void {
  const choice = body['tool_choice']
  const isThere = choice !== undefined || body['parallel_tool_calls'] !== undefined
  if (isThere && body['tools'] === undefined) refuse("only allowed when 'tools' are specified")
  if (choice === undefined) return
  const kind = typeof choice === 'string' ? choice : String((choice as Body)['type'])
  if (!choices.includes(kind)) refuse(`tool_choice '${kind}' is not supported`)
}

function checkStops({ stop }: Body): void {
  const stops = Array.isArray(stop) ? stop : stop === undefined || stop === null ? [] : [stop]
  if (stops.includes('')) refuse("Invalid 'stop': empty string")
}

/** Throws unless all members are accepted; `a.b` names a nested member. */
function checkMembers(value: Body, members: readonly string[] | undefined, where: string): void {
  if (members === undefined) refuse(`${where} has an unknown type`)
  for (const [name, inner] of Object.entries(value)) {
    if (!members.includes(name)) refuse(`property '${where}.${name}' is unsupported`)
    const deeper = members.filter((one) => one.startsWith(`${name}.`))
    if (deeper.length === 0) continue
    const isText = deeper.includes(`${name}.`)
    if (isText !== (typeof inner === 'string')) refuse(`${where}.${name} has the wrong form`)
    if (!isText)
      checkMembers(
        inner as Body,
        deeper.map((one) => one.slice(name.length + 1)),
        `${where}.${name}`,
      )
  }
  const missing = members.find((one) => one.endsWith('!') && !has(value, one.slice(0, -1)))
  if (missing !== undefined) refuse(`${where} lacks ${missing}`)
}

function has(value: Body, path: string): boolean {
  return path.split('.').reduce<unknown>((at, name) => (at as Body)?.[name], value) !== undefined
}

function listOf(value: unknown): Body[] {
  return Array.isArray(value) ? (value as Body[]) : []
}

function refuse(words: string): never {
  throw new Refused(400, 'invalid_request_error', words)
}
