import type { Usage } from '../money/price.ts'
import type { ChatRequest } from './chat.ts'
import { chunksIn } from './chunks.ts'

/** A common rule of thumb: a token is about four characters of text. */
const charactersPerToken = 4

/** Estimated token counts of texts, when the vendor reports no usage. */
export function estimateTokens(input: string, output: string): Usage {
  const [inputTokens, outputTokens] = [tokensOf(input), tokensOf(output)]
  return { inputTokens, outputTokens, images: 0, estimated: true }
}

function tokensOf(text: string): number {
  return Math.ceil(text.length / charactersPerToken)
}

/** Typical token count of a picture, a sound or a document. */
const tokensPerPart = 1000
/** Assumed length of an answer when the request sets no maximum. */
const answerTokensAssumed = 1000

/** Tokens for rate limits: `certain`, or `assumed` for an output without a requested maximum. */
export function tokenDemand(request: ChatRequest): { certain: number; assumed: number } {
  const { messages, tools = [], n } = request
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))
  const media = parts.filter((part) => part.type !== 'text').length
  const texts = [conversationText(request), tools.length === 0 ? '' : JSON.stringify(tools)]
  const input = texts.reduce((sum, text) => sum + tokensOf(text), media * tokensPerPart)
  const limit = request.max_completion_tokens ?? request.max_tokens
  const choices = n ?? 1
  return limit == null
    ? { certain: input, assumed: answerTokensAssumed * choices }
    : { certain: input + limit * choices, assumed: 0 }
}

/** Tokens of a call that produces no text, for rate limits. */
export function tokensOfPrompt(prompt: string): { certain: number; assumed: number } {
  return { certain: tokensOf(prompt), assumed: 0 }
}

/** Vocabularies have more bytes per token for nearly every text. */
const bytesPerToken = 3.2
const tokensPerMessage = 8
const tokensPerPicture = 1600
/** A page of a PDF takes about 50 KB of base64 and 3000 tokens. */
const base64PerDocumentToken = 16
const tokensPerDocument = 3000

/** Estimated input tokens of a request for its count; usually too many. */
export function estimateInput({ messages, tools, response_format: format }: ChatRequest): number {
  let bytes = 0
  let tokens = messages.length * tokensPerMessage
  const addText = (text: string) => {
    bytes += Buffer.byteLength(text)
  }
  for (const message of messages) {
    const { content } = message
    if (typeof content === 'string') addText(content)
    else {
      for (const part of content ?? []) {
        if (part.type === 'text') addText(part.text)
        else if (part.type === 'file') tokens += documentTokens(part.file.file_data ?? '')
        else tokens += tokensPerPicture
      }
    }
    const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : []
    for (const call of calls) addText(JSON.stringify({ ...call, extra_content: undefined }))
  }
  if (tools !== undefined) addText(JSON.stringify(tools))
  if (format !== undefined) addText(JSON.stringify(format))
  return Math.ceil(bytes / bytesPerToken) + tokens
}

function documentTokens(url: string): number {
  return Math.max(tokensPerDocument, Math.ceil(url.length / base64PerDocumentToken))
}

/** Estimated token counts of a call with several choices, when the vendor reports no usage. */
export function estimateAnswer(
  request: ChatRequest,
  answers: readonly (AnswerTexts | undefined)[],
): Usage {
  const usage = estimateTokens(conversationText(request), answers.map(spokenText).join(''))
  const thought = answers.map((one) => one?.reasoning_content ?? '').join('')
  return thought === '' ? usage : { ...usage, reasoningTokens: tokensOf(thought) }
}

/** Estimated token counts of a stream, from the delivered events. */
export function estimateStream(request: ChatRequest, events: Buffer): Usage {
  const said = chunksIn(events).flatMap(
    ({ choices, delta }) => choices?.map((choice) => choice?.delta) ?? nativeText(delta),
  )
  return estimateAnswer(request, said)
}

/** The text in the `delta` of a native event: a string, or an object with one of these members. */
function nativeText(delta: unknown): AnswerTexts | undefined {
  if (typeof delta === 'string') return { content: delta }
  if (typeof delta !== 'object' || delta === null) return undefined
  const { text, thinking, partial_json: input } = delta as Record<string, unknown>
  const content = text ?? input
  return {
    content: typeof content === 'string' ? content : null,
    reasoning_content: typeof thinking === 'string' ? thinking : null,
  }
}

/** Replaces each 0 in a vendor's count that reports no output with the estimate. */
export function estimateMissing(counted: Usage, estimated: Usage): Usage {
  const { outputTokens } = estimated
  if (outputTokens === 0 || counted.reportedNanoUsd !== undefined) return counted
  const inputTokens = counted.inputTokens || estimated.inputTokens
  return { ...counted, inputTokens, outputTokens, estimated: true }
}

/** All text of a conversation. */
export function conversationText({ messages }: ChatRequest): string {
  return messages
    .map(({ content }) => {
      if (typeof content === 'string') return content
      return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join(' ')
    })
    .join('\n')
}

/** All text of an answer, including reasoning and tool calls. */
function spokenText(answer: AnswerTexts | undefined): string {
  const calls = (answer?.tool_calls ?? []).map((call) => [
    call?.function?.name,
    call?.function?.arguments,
    call?.custom?.input,
  ])
  return [answer?.content, answer?.reasoning_content, ...calls.flat()].join('')
}

type CallTexts = {
  function?: { name?: string; arguments?: string }
  custom?: { name?: string; input?: string }
}
type AnswerTexts = {
  content?: string | null
  reasoning_content?: string | null
  tool_calls?: (CallTexts | null)[] | null
}
