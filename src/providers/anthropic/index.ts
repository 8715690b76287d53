import type { Provider } from '../../core/route.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { chatAdapter } from './chat.ts'

/** Anthropic. */
export function anthropic(endpoint: Endpoint): Provider {
  return { id: endpoint.id, chat: chatAdapter(endpoint) }
}
