import type { ChatRequest } from '../../core/chat/chat.ts'
import { conversationText } from '../../core/chat/estimate.ts'
import { lastUserText } from '../../core/chat/prompt.ts'
import type { Target, Warning } from '../../core/model.ts'
import { functionsOnly } from '../wire/function-tools.ts'
import { exampleOf } from './example.ts'
import { countTokens, mediaTokens, tokensOf } from './tokens.ts'
import type { Scene } from './scenario.ts'
import { quoteResults, type MadeCall } from './tool-calls.ts'

/** The properties of the simulated model that the sandbox needs. */
type Played = {
  contextWindow?: number
  reasons: boolean
  /** Whether answers of the model contain its reasoning as `reasoning_content`. */
  showsThoughts: boolean
}
/** When answers show the model's reasoning; `asked` means only with a `reasoning_effort`. */
export type ThoughtsShown = 'always' | 'asked' | 'never'

/** A chat request in the sandbox's wire format. */
export type PlayedRequest = ChatRequest & { played?: Played }

/** Fields whose adjusted value affects the sandbox's answer. */
const followed: ReadonlySet<string> = new Set([
  'max_completion_tokens',
  'max_tokens',
  'n',
  'reasoning_effort',
  'stop',
  'tool_choice',
  'top_logprobs',
] satisfies (keyof ChatRequest)[])

/** The request as the simulated vendor would receive it, according to the adapter's warnings. */
export function playedRequest(
  request: ChatRequest,
  { model: { row } }: Target,
  { warnings, thoughtsShown }: { warnings: readonly Warning[]; thoughtsShown: ThoughtsShown },
): PlayedRequest {
  // Adapters may convert deprecated functions to tools, and filter tools by `allowed_tools`.
  const isConverted = warnings.some(({ param }) => ['functions', 'tool_choice'].includes(param))
  const left: Record<string, unknown> = isConverted
    ? functionsOnly(request, row.provider).request
    : { ...request }
  for (const { param, applied } of warnings) {
    if (applied === null) delete left[param]
    else if (followed.has(param)) left[param] = applied
  }
  const effort = left['reasoning_effort'] ?? undefined
  const asked = effort !== undefined || thoughtsShown !== 'asked'
  const reasons = row.capabilities.reasoning && asked && effort !== 'none'
  const { context_window: window, doubtful = [] } = row
  const isKnown = !doubtful.includes('context_window')
  const played: Played = {
    ...(isKnown && window !== undefined ? { contextWindow: window } : {}),
    reasons,
    showsThoughts: reasons && thoughtsShown !== 'never',
  }
  // `left` is still a valid request: only optional members were removed, and adapters apply valid values.
  return { ...(left as ChatRequest), played }
}

/** An answer of the sandbox in tokens, determined by the request. */
export type Reply = {
  /** The model's reasoning; empty if answers of the vendor do not show it. */
  thoughts: string[]
  /** The text of the answer, the same for each choice. */
  tokens: string[]
  /** Whether the text is a refusal to answer. */
  isRefusal: boolean
  toolCalls: MadeCall[]
  finishReason: 'stop' | 'length' | 'tool_calls' | 'function_call' | 'content_filter'
  usage: object
}

const echoedCharactersMax = 240
const thoughtsOfEffort: Readonly<Record<string, number>> = { minimal: 1, low: 1, medium: 2 }
const thoughtsMax = 4

/** Answers a conversation deterministically, within `max_tokens` and `stop`. */
export function say(request: PlayedRequest, toolCalls: MadeCall[], script: Scene): Reply {
  const most = request.max_completion_tokens ?? request.max_tokens ?? Infinity
  // Reasoning counts towards the token limit, as with real vendors.
  const thoughts = tokensOf(thoughtsFor(request)).slice(0, most)
  const left = most - thoughts.length
  const spoken =
    toolCalls.length > 0 ? callWithin(toolCalls, left) : textWithin(request, left, script)
  return {
    ...spoken,
    thoughts: request.played?.showsThoughts === true ? thoughts : [],
    usage: usageOf(request, thoughts.length, spoken),
  }
}

type Spoken = Omit<Reply, 'thoughts' | 'usage'>

/** Truncates the arguments of calls at the token limit, as real vendors do. */
function callWithin(calls: readonly MadeCall[], most: number): Spoken {
  let left = most
  let isCut = false
  const toolCalls = calls.map((call) => {
    const tokens = tokensOf(call.arguments)
    const kept = tokens.slice(0, Math.max(0, left))
    left -= kept.length
    isCut ||= kept.length < tokens.length
    return { ...call, arguments: kept.join('') }
  })
  const called = calls[0]?.kind === 'old' ? 'function_call' : 'tool_calls'
  const finishReason = isCut ? 'length' : called
  return { tokens: [], isRefusal: false, toolCalls, finishReason }
}

function textWithin(request: PlayedRequest, most: number, script: Scene): Spoken {
  const isRefusal = script.has('refusal')
  const text = isRefusal ? 'The sandbox was asked to refuse, so it does.' : textFor(request)
  const all = script.has('no-answer') ? [] : tokensOf(beforeStop(text, request.stop))
  const half = Math.ceil(all.length / 2)
  const isBroken = script.has('length') || script.has('content-filter')
  const tokens = all.slice(0, isBroken ? Math.min(half, most) : most)
  const isCut = tokens.length < all.length
  const broken = script.has('content-filter') ? 'content_filter' : 'length'
  return { tokens, isRefusal, toolCalls: [], finishReason: isCut ? broken : 'stop' }
}

/** The tokens of the model's input: texts, media, tools and the response format. */
export function promptTokens(request: PlayedRequest): number {
  const { tools = [], functions = [], response_format: format } = request
  const schemas = [...tools, ...functions, ...(format?.type === 'json_schema' ? [format] : [])]
  const written = schemas.map((schema) => JSON.stringify(schema)).join('')
  return countTokens(conversationText(request)) + mediaTokens(request) + countTokens(written)
}

function usageOf(request: PlayedRequest, thoughts: number, { tokens, toolCalls }: Spoken): object {
  const called = toolCalls.map((call) => call.name + call.arguments).join('')
  const each = thoughts + tokens.length + countTokens(called)
  const choices = request.n ?? 1
  const [read, written] = [promptTokens(request), each * choices]
  return {
    prompt_tokens: read,
    completion_tokens: written,
    total_tokens: read + written,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: thoughts * choices },
  }
}

function thoughtsFor({ played, reasoning_effort: effort, messages }: PlayedRequest): string {
  if (played?.reasons !== true) return ''
  const steps = thoughtsOfEffort[effort ?? 'medium'] ?? thoughtsMax
  return [
    messages.length === 1 ? 'There is one message.' : `There are ${messages.length} messages.`,
    'The last one says what is wanted.',
    'The sandbox may only repeat it.',
    'That is short enough to say at once.',
  ]
    .slice(0, steps)
    .join(' ')
}

function textFor(request: PlayedRequest): string {
  const format = request.response_format
  if (format?.type === 'json_object') {
    return JSON.stringify({ model: request.model, echo: shorten(lastUserText(request)) })
  }
  if (format?.type === 'json_schema') return JSON.stringify(exampleOf(format.json_schema.schema))
  const results = quoteResults(request, shorten)
  if (results !== undefined) return `${results} This is the sandbox, answering as ${request.model}.`
  const turns = request.messages.length
  return (
    `This is the sandbox, answering as ${request.model}. ` +
    `It read ${turns} ${turns === 1 ? 'message' : 'messages'}, and the last one says: “${shorten(lastUserText(request))}” ` +
    'A live key reaches the real model.'
  )
}

function shorten(text: string): string {
  return text.length > echoedCharactersMax ? `${text.slice(0, echoedCharactersMax)}…` : text
}

function beforeStop(text: string, stop: PlayedRequest['stop']): string {
  const marks = [stop ?? []].flat().filter((mark) => mark !== '')
  const ends = marks.map((mark) => text.indexOf(mark)).filter((at) => at >= 0)
  return text.slice(0, Math.min(text.length, ...ends))
}
