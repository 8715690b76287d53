import type { Provider } from '../../core/route.ts'
import { chatAdapter } from './chat.ts'
import type { OpenAiEndpoint } from './endpoint.ts'
import { imageAdapter } from './image.ts'

/**
 * A provider that speaks OpenAI's protocol. Images are requested as base64, since compatible
 * servers answer with a URL otherwise.
 */
export function openAiCompatible(endpoint: OpenAiEndpoint): Provider {
  const { id, imageFields = () => ({ response_format: 'b64_json' }) } = endpoint
  return { id, chat: chatAdapter(endpoint), image: imageAdapter({ ...endpoint, imageFields }) }
}
