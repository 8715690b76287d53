import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import type { ChatRequest } from '../../src/core/chat/chat.ts'
import { checkConversation, modelProblems } from '../../src/core/chat/check.ts'
import { hasDefaultValue, withoutEmpty } from '../../src/core/chat/default-values.ts'
import { orderToolResults } from '../../src/core/chat/order-tool-results.ts'
import { placeResultMedia } from '../../src/core/chat/media.ts'
import { GatewayError } from '../../src/core/error.ts'
import type { Problem, Warning } from '../../src/core/model.ts'
import { write } from './chat-wire.ts'
import { modelOf, routeOf } from './route.ts'

type Members = Record<string, unknown>

/** A chat request after preparation: the vendor's request, and the warnings and problems for the caller. */
export type PreparedChat = {
  asked: Members
  sent: Members
  warnings: readonly Warning[]
  problems: readonly Problem[]
}

/**
 * Prepares a request as a call does, up to the vendor's format.
 *
 * @example
 * const { sent, warnings } = prepareChat('claude-sonnet-5', { messages, seed: 1 })
 * expect(warnings[0]?.param).to.equal('seed')
 */
export function prepareChat(model: string, request: Members): PreparedChat {
  // The cast is needed because requests of real clients may violate the contract.
  const whole = structuredClone({ model, ...request }) as unknown as ChatRequest
  const asked = withoutEmpty(whole)
  const refused = refusalOf(asked)
  const settled = refused.length === 0 ? orderToolResults(asked.messages) : undefined
  const { messages } = settled ?? asked
  const placed = placeResultMedia(messages, routeTo(model))
  const written = write({ model, request: { ...asked, messages: placed?.messages ?? messages } })
  const { body } = written
  const [problems, own] = placed
    ? [placed.asSent(written.problems), [...placed.warnings, ...placed.asSent(written.warnings)]]
    : [written.problems, written.warnings]
  const warnings = [...(settled?.warnings ?? []), ...own]
  const all = [...refused, ...modelProblems(asked, modelOf(model)), ...problems]
  const sent = JSON.parse(JSON.stringify(body)) as Members
  return { asked: { ...asked }, sent, warnings, problems: all }
}

/** A route to the model at its provider, of which Anthropic and Google accept media in the results of tools. */
function routeTo(model: string) {
  const { provider } = modelOf(model).row
  const chat = { takesResultMedia: true as const, prepare: () => expect.fail() }
  const isOwn = provider === 'anthropic' || provider === 'google'
  return routeOf(provider, { model, ...(isOwn ? { chat } : {}) })
}

function refusalOf(request: ChatRequest): Problem[] {
  try {
    checkConversation(request)
    return []
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return [{ param: error.param ?? '', message: error.message }]
  }
}

/** Members that only the gateway reads, or that do not affect the model. */
const ours = new Set(['model', 'models', 'messages', 'stream', 'stream_options', 'cache_control'])
/** Members that vendors call by another name. */
const names: Readonly<Record<string, string>> = {
  user: 'user_id',
  seed: 'random_seed',
  max_tokens: 'max_completion_tokens',
  max_completion_tokens: 'max_tokens',
}

/** Paths of requested members that are neither sent nor reported to the caller. */
export function lostFields({ asked, sent, warnings, problems }: PreparedChat): string[] {
  const reported = [...warnings, ...problems].map(({ param }) => param)
  const isTold = (path: string) =>
    reported.some(
      (param) => path === param || path.startsWith(`${param}.`) || path.startsWith(`${param}[`),
    )
  const isResponses = 'input' in sent
  const fields = Object.entries(asked).filter(([field, value]) => {
    if (ours.has(field) || hasDefaultValue(field, value) || isTold(field)) return false
    if (reported.some((param) => param.startsWith(field))) return false
    // A warning about `tool_choice` also covers `tools`; a warning about `functions` covers `function_call`.
    if (reported.includes({ tools: 'tool_choice', function_call: 'functions' }[field] ?? ''))
      return false
    if (isDeepStrictEqual(sent[field], value)) return false
    if (isDeepStrictEqual(sent[names[field] ?? ''], value)) return false
    if (isResponses) return !isInResponses(field, value, sent)
    return !isSame(field, value, sent)
  })
  const written = JSON.stringify(sent[isResponses ? 'input' : 'messages'])
  const leaves = leavesOf(asked['messages'], 'messages').filter(
    ([path, value]) => !isTold(path) && !written.includes(JSON.stringify(value).slice(1, -1)),
  )
  return [...fields.map(([field]) => field), ...leaves.map(([path]) => path)]
}

/** Whether a field is in a request to OpenAI's Responses API, which nests and renames fields. */
function isInResponses(field: string, value: unknown, sent: Members): boolean {
  const { reasoning, text, max_output_tokens: most } = sent
  switch (field) {
    case 'max_tokens':
    case 'max_completion_tokens':
      return most === value
    case 'reasoning_effort':
      return isDeepStrictEqual(reasoning, { effort: value })
    case 'verbosity':
      return (text as Members)['verbosity'] === value
    default: {
      const written = JSON.stringify({ ...sent, input: undefined })
      return leavesOf(value, field).every(([, leaf]) => written.includes(JSON.stringify(leaf)))
    }
  }
}

/** Whether a field is sent in an equivalent form. */
function isSame(field: string, value: unknown, sent: Members): boolean {
  const { thinking, enable_thinking: enabled, logprobs } = sent
  switch (field) {
    case 'reasoning_effort': {
      const type = (thinking as Members | undefined)?.['type']
      return value === 'none' && (type === 'disabled' || enabled === false || !reasons(sent))
    }
    case 'stop':
      return isDeepStrictEqual(sent['stop'], [value])
    case 'tool_choice':
      return value === 'required' && sent['tool_choice'] === 'any'
    case 'logprobs':
    case 'top_logprobs':
      return typeof logprobs === 'number' && logprobs > 0
    case 'response_format':
      // A schema format without a schema means any JSON.
      return JSON.stringify(sent['response_format']) === '{"type":"json_object"}'
    case 'tools':
      return isDeepStrictEqual(toolsOf(sent['tools']), toolsOf(value))
    default:
      return false
  }
}

/** Tools without empty members and cache marks. */
function toolsOf(value: unknown): unknown {
  if (!Array.isArray(value)) return value
  return (value as { cache_control?: unknown; function: Members }[]).map((tool) => {
    const { cache_control: _mark, function: given, ...rest } = tool
    const { strict, ...said } = given
    const isStrict = strict === true ? { strict } : {}
    const parameters = { type: 'object', properties: {} }
    return { ...rest, function: { parameters, ...said, ...isStrict } }
  })
}

function reasons({ model }: Members): boolean {
  return !/^(?:chat-latest|gpt-4|llama|qwen3-max|mistral-large-latest|codestral|devstral|ministral)/.test(
    String(model),
  )
}

/** Members whose form depends on the vendor, that occur only in answers, or that only mark a part. */
const silent = new Set(
  'role type id tool_call_id reasoning_content annotations parsed extra_content cache_control'.split(
    ' ',
  ),
)

function leavesOf(value: unknown, path: string): [string, unknown][] {
  if (typeof value !== 'object' || value === null) {
    return typeof value === 'string' && value !== '' ? [[path, value]] : []
  }
  const { content } = value as { content?: string | unknown[] | null }
  return Object.entries(value).flatMap(([name, inner]) => {
    // Ignores the refusal of a message that also has text.
    if (silent.has(name) || (name === 'refusal' && content?.length)) return []
    return leavesOf(inner, Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`)
  })
}
