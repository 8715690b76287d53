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
import { cerebras, groq, mistral, openai } from './refusing.ts'
import type { ClosedChat } from './schema.ts'

/** Request schemas of vendors that speak OpenAI's protocol, by vendor id. */
export const closedChats: Readonly<Record<string, ClosedChat>> = {
  openai,
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
}
