import type { Provider } from '../../core/route.ts'
import { chatAdapter } from './chat.ts'
import type { OpenAiEndpoint } from './endpoint.ts'
import { imageAdapter } from './image.ts'

/**
 * A provider that speaks OpenAI's protocol as most do: pictures are asked for as base64, since servers
 * like OpenAI's answer with an address otherwise.
 */
export function openAiCompatible(endpoint: OpenAiEndpoint): Provider {
  const { id, imageFields = () => ({ response_format: 'b64_json' }) } = endpoint
  return { id, chat: chatAdapter(endpoint), image: imageAdapter({ ...endpoint, imageFields }) }
}
