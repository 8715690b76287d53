import type { Provider } from '../../core/route.ts'
import type { Endpoint } from '../endpoint.ts'
import { chatAdapter } from '../openai-compatible/chat.ts'
import { imageAdapter } from './image.ts'

/** BytePlus ModelArk (provider group 4). */
export function bytedance(endpoint: Endpoint): Provider {
  return { id: endpoint.id, chat: chatAdapter(endpoint), image: imageAdapter(endpoint) }
}
