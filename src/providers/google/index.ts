import type { Provider } from '../../core/route.ts'
import { below, type Endpoint } from '../endpoint.ts'
import { chatAdapter } from '../openai-compatible/chat.ts'
import { imageAdapter } from './image.ts'

/** Google Gemini (provider group 1). */
export function google(endpoint: Endpoint): Provider {
  return {
    id: endpoint.id,
    chat: chatAdapter(below(endpoint, '/v1beta/openai')),
    image: imageAdapter(endpoint),
  }
}
