import type { Provider } from '../../core/route.ts'
import { below, type Endpoint } from '../endpoint.ts'
import { chatAdapter } from '../openai-compatible/chat.ts'

/** Anthropic. */
export function anthropic(endpoint: Endpoint): Provider {
  return { id: endpoint.id, chat: chatAdapter(below(endpoint, '/v1')) }
}
