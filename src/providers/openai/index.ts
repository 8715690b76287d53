import type { Provider } from '../../core/route.ts'
import type { Endpoint } from '../endpoint.ts'
import { chatAdapter } from '../openai-compatible/chat.ts'
import { imageAdapter } from '../openai-compatible/image.ts'

/** OpenAI itself. */
export function openai(endpoint: Endpoint): Provider {
  return {
    id: endpoint.id,
    chat: chatAdapter(endpoint),
    image: imageAdapter({ ...endpoint, edits: 'json' }),
  }
}
