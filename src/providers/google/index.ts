import type { Provider } from '../../core/route.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { chatAdapter } from './chat.ts'
import { imageAdapter } from './image.ts'

/** Google Gemini (provider group 1). */
export function google(endpoint: Endpoint): Provider {
  return {
    id: endpoint.id,
    chat: chatAdapter(endpoint),
    image: imageAdapter(endpoint),
  }
}
