import type { Provider } from '../../core/route.ts'
import { chatAdapter } from './chat.ts'
import type { OpenAiEndpoint } from './endpoint.ts'
import { imageAdapter } from './image.ts'

/** A provider that speaks OpenAI's protocol. */
export function openAiCompatible(endpoint: OpenAiEndpoint): Provider {
  return { id: endpoint.id, chat: chatAdapter(endpoint), image: imageAdapter(endpoint) }
}
