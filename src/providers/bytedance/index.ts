import type { Provider } from '../../core/route.ts'
import { chatAdapter } from '../openai-compatible/chat.ts'
import { dialects } from '../openai-compatible/dialect.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { imageAdapter } from './image.ts'

/** BytePlus ModelArk (provider group 4). */
export function bytedance(endpoint: Endpoint): Provider {
  return {
    id: endpoint.id,
    chat: chatAdapter({ ...endpoint, dialect: dialects.bytedance }),
    image: imageAdapter(endpoint),
  }
}
