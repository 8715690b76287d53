import type { Provider } from '../../core/route.ts'
import { chatAdapter } from '../openai-compatible/chat.ts'
import { dialects } from '../openai-compatible/dialect.ts'
import { below, type Endpoint } from '../transport/endpoint.ts'
import { imageAdapter } from './image.ts'

/** Alibaba Cloud Model Studio (provider group 2). */
export function alibaba(endpoint: Endpoint): Provider {
  return {
    id: endpoint.id,
    chat: chatAdapter({ ...below(endpoint, '/compatible-mode/v1'), dialect: dialects.alibaba }),
    image: imageAdapter(endpoint),
  }
}
