import type { Provider } from '../../core/route.ts'
import { chatAdapter } from './chat.ts'
import { imageAdapter } from './image.ts'
import type { OpenAiEndpoint } from './wire.ts'

/** A provider that speaks OpenAI's protocol: the vendor itself, one like it, or an own server. */
export function openAiCompatible(endpoint: OpenAiEndpoint): Provider {
  return { id: endpoint.id, chat: chatAdapter(endpoint), image: imageAdapter(endpoint) }
}
