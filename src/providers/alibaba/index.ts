import type { Provider } from '../../core/route.ts'
import { below, type Endpoint } from '../endpoint.ts'
import { chatAdapter } from '../openai-compatible/chat.ts'
import { imageAdapter } from './image.ts'

/** Alibaba Cloud Model Studio (provider group 2). */
export function alibaba(endpoint: Endpoint): Provider {
  return {
    id: endpoint.id,
    chat: chatAdapter(below(endpoint, '/compatible-mode/v1')),
    image: imageAdapter(endpoint),
  }
}
