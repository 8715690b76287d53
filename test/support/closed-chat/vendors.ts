import {
  alibaba,
  bytedance,
  deepseek,
  moonshot,
  openrouter,
  together,
  xai,
  zai,
} from './ignoring.ts'
import { bedrock, cloudflare, deepinfra, fireworks, nvidia, perplexity } from './hosts.ts'
import { cerebras, groq, mistral, openai } from './refusing.ts'
import { checkResponses } from '../responses-schema.ts'
import { checkClosed, type Body, type ClosedChat } from './schema.ts'

/** Request schemas of vendors that speak OpenAI's protocol, by vendor id. */
export const closedChats: Readonly<Record<string, ClosedChat>> = {
  openai,
  azure: openai,
  mistral,
  deepseek,
  groq,
  xai,
  alibaba,
  bytedance,
  zai,
  together,
  moonshot,
  cerebras,
  openrouter,
  perplexity,
  fireworks,
  deepinfra,
  nvidia,
  cloudflare,
  bedrock,
}

/** Throws unless the vendor accepts the body, which for OpenAI's models may be one of the Responses API. */
export function checkSent(provider: string, body: Body): void {
  const closed = closedChats[provider]
  if (closed === undefined) throw new Error(`closedChats has no row for ${provider}.`)
  if (closed === openai && 'input' in body) checkResponses(body)
  else checkClosed(closed, body)
}
