import type { components } from '../../../generated/types.ts'
import type { ChatRequest } from '../../core/chat/chat.ts'
import type { Usage } from '../../core/money/price.ts'
import type { Receipt } from '../../core/receipt.ts'
import { costFields } from '../cost-fields.ts'

type Schemas = components['schemas']

/** The usage of a message in Anthropic's form, with the cost fields of the chat API. */
export function messageUsage(usage: Usage, { cost }: Receipt): Schemas['MessageUsage'] {
  return { ...tokenCounts(usage), ...costFields(cost) }
}

/** The counts in Anthropic's form. */
export function tokenCounts(usage: Usage): Schemas['MessageUsage'] {
  const { inputTokens, outputTokens, cachedInputTokens: cached = 0 } = usage
  const { cacheWriteTokens: written = 0, reasoningTokens = 0 } = usage
  return {
    // Anthropic's count excludes what was read from the cache or written to it.
    input_tokens: Math.max(0, inputTokens - cached - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
  }
}

/** Vocabularies have more bytes per token for nearly every text. */
const bytesPerToken = 3.2
const tokensPerMessage = 8
const tokensPerPicture = 1600
/** A page of a PDF takes about 50 KB of base64 and 3000 tokens. */
const base64PerDocumentToken = 16
const tokensPerDocument = 3000

/** Estimated input tokens of a request, rather too many than too few. */
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
