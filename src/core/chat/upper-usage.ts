import type { Model } from '../model.ts'
import type { UpperUsage } from '../money/upper-cost.ts'
import type { ChatRequest } from './chat.ts'
import { searchDemand } from './web-search.ts'

/** Upper bound of the tokens of a picture at any vendor; only gpt-4o-mini comes close. */
const pictureTokens = 16_384
/** A second of sound is at most 32 tokens, and at least a thousand bytes of base64. */
const soundBytesPerToken = 16
/** Tokens that vendors add to a request, to each message and to tools. */
const overheadTokens = 256
const messageTokens = 16
const toolTokens = 1024
/**
 * Tokens that the model reads of one search. No vendor states a limit; where OpenAI charges a fixed number, it
 * is 8,000.
 */
const searchTokens = 8192
/** Assumed output limit of a model without a documented limit. */
const outputTokensAssumed = 131_072

/**
 * Upper bound of the usage of a conversation (docs/behaviour.md#budgets). A token is at least one byte of
 * text, and the total is at most the context window.
 */
export function upperChatUsage(request: ChatRequest): (model: Model) => UpperUsage {
  const { serviceTier, ...said } = readRequest(request)
  const limit = request.max_completion_tokens ?? request.max_tokens ?? undefined
  return ({ row: { context_window: window, max_output_tokens: outputMax }, prices }) => {
    const output = limit ?? outputMax ?? window ?? outputTokensAssumed
    const searches = request.web_search_options && prices.webSearch ? searchDemand(request) : 0
    // The model reads the conversation and what it has found again after each search.
    const found = (searchTokens * searches * (searches + 1)) / 2
    // The token count of a document is unknown; only the context window limits it.
    const tokens = said.readsFiles ? Infinity : said.tokens * (searches + 1) + found
    return {
      inputTokens: Math.min(tokens, (window ?? said.tokens + found) * (searches + 1)),
      outputTokens: (request.n ?? 1) * (output + said.predictedTokens),
      hasAudioInput: said.hasAudioInput,
      hasImageInput: said.hasImageInput,
      hasAudioOutput: request.modalities?.includes('audio') ?? false,
      images: 0,
      ...(searches === 0 ? {} : { webSearches: searches }),
      ...(serviceTier === undefined ? {} : { serviceTier }),
    }
  }
}

type InputTotals = ReturnType<typeof readRequest>

function readRequest(request: ChatRequest) {
  const { messages, ...settings } = request
  const said = {
    tokens: overheadTokens + bytesOf(settings) + (request.tools?.length ? toolTokens : 0),
    hasAudioInput: false,
    hasImageInput: false,
    readsFiles: false,
    /** Tokens of `prediction`: vendors charge rejected tokens as output. */
    predictedTokens: bytesOf((settings as { prediction?: unknown }).prediction),
    serviceTier: textIn((settings as { service_tier?: unknown }).service_tier),
  }
  for (const message of messages) {
    const { content, ...rest } = message
    said.tokens += messageTokens
    if (typeof content === 'string') said.tokens += Buffer.byteLength(content)
    else for (const part of content ?? []) readPart(said, part)
    readRest(said, rest)
  }
  return said
}

type Part = Exclude<ChatRequest['messages'][number]['content'], string | null | undefined>[number]

function readPart(totals: InputTotals, part: Part): void {
  if (part.type === 'image_url') addPicture(totals)
  else if (part.type === 'input_audio') {
    totals.hasAudioInput = true
    totals.tokens += messageTokens + part.input_audio.data.length / soundBytesPerToken
  } else if (part.type === 'file') {
    totals.readsFiles = true
    totals.tokens += bytesOf(part)
  } else totals.tokens += bytesOf(part)
}

/** Pictures in assistant messages are sent to the next model as input. */
function readRest(totals: InputTotals, rest: object): void {
  for (const [name, value] of Object.entries(rest)) {
    if (name === 'images' && Array.isArray(value)) for (const _ of value) addPicture(totals)
    else totals.tokens += name.length + bytesOf(value)
  }
}

function addPicture(totals: InputTotals): void {
  totals.hasImageInput = true
  totals.tokens += pictureTokens
}

/** An upper bound of the bytes of a value's JSON. */
function bytesOf(value: unknown): number {
  switch (typeof value) {
    case 'string':
      return Buffer.byteLength(value) + 2
    case 'object':
      break
    case 'undefined':
      return 0
    default:
      return 24
  }
  if (value === null) return 4
  let bytes = 2
  if (Array.isArray(value)) for (const item of value) bytes += bytesOf(item) + 1
  else
    for (const [name, member] of Object.entries(value))
      bytes += name.length * 3 + bytesOf(member) + 4
  return bytes
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
