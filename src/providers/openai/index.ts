import type { Provider } from '../../core/route.ts'
import { chatAdapter } from '../openai-compatible/chat.ts'
import { dialects } from '../openai-compatible/dialect.ts'
import { imageAdapter } from '../openai-compatible/image.ts'
import type { Endpoint } from '../transport/endpoint.ts'

/** OpenAI itself. */
export function openai(endpoint: Endpoint): Provider {
  return {
    id: endpoint.id,
    chat: chatAdapter({ ...endpoint, dialect: dialects.openai }),
    image: imageAdapter({ ...endpoint, edits: 'json' }),
  }
}
