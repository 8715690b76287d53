import type { ChatStream } from '../../src/core/chat/chat.ts'
import type { ChatDialect } from '../../src/providers/openai-compatible/dialect.ts'
import { startStream } from '../../src/providers/openai-compatible/chat.ts'
import { ownTexts } from '../../src/providers/transport/vendor-texts.ts'
import type { OpenAnswer } from '../../src/providers/transport/upstream.ts'

/** The chat stream of an OpenAI-compatible upstream, without a gateway. */
export function startOpenAiStream(
  answer: OpenAnswer,
  answerBytesMax: number,
  dialect: ChatDialect = {},
): Promise<ChatStream> {
  const limits = { answerBytesMax, jsonBytesMax: answerBytesMax, endTimeoutMs: 1 }
  return startStream(answer, limits, {
    dialect,
    request: { model: 'fallback', messages: [] },
    eventBytesMax: answerBytesMax,
    tokensMax: { input: 1e9, output: 1e9 },
    reading: { texts: ownTexts },
    fallback: { created: 1_767_225_600, model: 'fallback' },
  })
}
