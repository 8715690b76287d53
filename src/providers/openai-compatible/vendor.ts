import type { ImageAdapter } from '../../core/image/image.ts'
import { below, type Endpoint } from '../transport/endpoint.ts'
import type { Vendor } from '../vendor.ts'
import { writeChat } from './chat-request.ts'
import type { ChatDialect, EmbeddingDialect, ImageDialect, OpenAiEndpoint } from './dialect.ts'
import type { Provider } from '../../core/route.ts'
import { chatAdapter } from './chat.ts'
import { embeddingAdapter } from './embedding.ts'
import { imageAdapter } from './image.ts'

type Described = Pick<Vendor, 'id' | 'name' | 'baseUrl'> &
  Partial<Omit<Vendor, 'dialect' | 'writeChat' | 'build'>> & {
    dialect: ChatDialect
    /** The path below `baseUrl` where OpenAI's protocol is; `baseUrl` itself when absent. */
    chatPath?: string
    /** How the vendor's images differ from those of OpenAI-compatible servers. */
    imageDialect?: ImageDialect
    /** How the vendor's embeddings differ from OpenAI's; absent when it has none. */
    embeddingDialect?: EmbeddingDialect
    /** The image adapter of a vendor that does not use OpenAI's image API. */
    image?: (endpoint: Endpoint) => ImageAdapter
  }

/**
 * A vendor with OpenAI's protocol; the given members override the defaults.
 *
 * @example
 * const acme = protocolVendor({
 *   id: 'acme',
 *   name: 'Acme',
 *   anyModel: true,
 *   baseUrl: 'https://api.acme.example/v1',
 *   dialect: { limit: 'max_tokens', takesBack: ['reasoning_content'] },
 * })
 */
export function protocolVendor({
  chatPath,
  imageDialect,
  embeddingDialect,
  image,
  ...described
}: Described): Vendor {
  const { id, dialect } = described
  const prefix = id.toUpperCase()
  return {
    keyVariables: [`${prefix}_API_KEY`],
    baseUrlVariable: `${prefix}_BASE_URL`,
    modelsPath: '/models',
    imageConfig: 'ImageConfigOpenai',
    ...described,
    writeChat: (request, target) => writeChat(request, target, dialect),
    build: (endpoint) => {
      const speaking = chatPath === undefined ? endpoint : below(endpoint, chatPath)
      const images = imageDialect === undefined ? {} : { imageDialect }
      const embeddings = embeddingDialect === undefined ? {} : { embeddingDialect }
      const provider = openAiCompatible({ ...speaking, dialect, ...images, ...embeddings })
      return image === undefined ? provider : { ...provider, image: image(endpoint) }
    },
  }
}

/** A provider with OpenAI's protocol. */
export function openAiCompatible(endpoint: OpenAiEndpoint): Provider {
  const { id, embeddingDialect: embeddings } = endpoint
  return {
    id,
    chat: chatAdapter(endpoint),
    image: imageAdapter(endpoint),
    ...(embeddings === undefined ? {} : { embedding: embeddingAdapter(endpoint, embeddings) }),
  }
}
