import type { Provider } from '../../core/route.ts'
import type { Endpoint } from '../endpoint.ts'
import { chatAdapter } from '../openai-compatible/chat.ts'
import { imageAdapter } from './image.ts'

/** Z.AI (provider group 3). */
export function zai(endpoint: Endpoint): Provider {
  return { id: endpoint.id, chat: chatAdapter(endpoint), image: imageAdapter(endpoint) }
}
