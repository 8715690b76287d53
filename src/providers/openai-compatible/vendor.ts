import type { ImageAdapter } from '../../core/image/image.ts'
import { below } from '../transport/endpoint.ts'
import type { Vendor } from '../vendor.ts'
import { writeChat } from './chat-request.ts'
import type { ChatDialect } from './dialect.ts'
import type { OpenAiEndpoint } from './endpoint.ts'
import { openAiCompatible } from './provider.ts'

type Described = Pick<Vendor, 'id' | 'name' | 'baseUrl'> &
  Partial<Omit<Vendor, 'dialect' | 'writeChat' | 'build'>> & {
    dialect: ChatDialect
    /** The path below `baseUrl` of OpenAI's protocol; `baseUrl` itself when absent. */
    chatPath?: string
    /** Its image adapter; that of OpenAI-compatible servers when absent. */
    image?: (endpoint: OpenAiEndpoint) => ImageAdapter
  }

/** A vendor that speaks OpenAI's protocol; the given members replace the defaults. */
export function protocolVendor({ chatPath, image, ...described }: Described): Vendor {
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
      const provider = openAiCompatible({ ...speaking, dialect })
      return image === undefined
        ? provider
        : { ...provider, image: image({ ...endpoint, dialect }) }
    },
  }
}
