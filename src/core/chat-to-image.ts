import type { components } from '../../generated/types.ts'
import type { ChatRequest } from './chat.ts'
import { GatewayError } from './error.ts'
import type { ImageRequest } from './image.ts'
import type { Model } from './model.ts'

type Schemas = components['schemas']
/** The options of every provider group together; which of them a model takes was checked before. */
export type ImageConfig = Schemas['ImageConfigGoogle'] &
  Partial<Omit<Schemas['ImageConfigOpenai'], 'image_size'>> & { image_size?: string }

/** The schema that checks the `image_config` of a provider's models (the document's groups). */
export type ImageConfigSchema = Extract<keyof Schemas, `ImageConfig${string}`>

const schemas: Record<string, ImageConfigSchema> = {
  google: 'ImageConfigGoogle',
  alibaba: 'ImageConfigAlibaba',
  zai: 'ImageConfigZai',
  bytedance: 'ImageConfigBytedance',
}

/** As many as the images API makes. */
const imagesMax = 10

/** Which schema `image_config` must pass for this model. */
export function imageConfigSchema({ row }: Model): ImageConfigSchema {
  return schemas[row.provider] ?? 'ImageConfigOpenai'
}

/** Reads a conversation with an image model: the last text of the user is the prompt. */
export function chatToImage(request: ChatRequest, config: ImageConfig): ImageRequest {
  const prompt = lastUserText(request)
  if (prompt.trim() === '') {
    throw new GatewayError('invalid_value', 'An image model needs a user message with a text.', {
      param: 'messages',
    })
  }
  refuseInputImages(request)
  const n = config.n ?? request.n ?? 1
  if (n > imagesMax) {
    throw new GatewayError('invalid_value', `An image model makes at most ${imagesMax} images.`, {
      param: 'n',
    })
  }
  return {
    model: request.model,
    prompt,
    n,
    sources: [],
    ...sizeOf(config),
    ...(config.quality === undefined ? {} : { quality: config.quality }),
    ...(config.background === undefined ? {} : { background: config.background }),
    ...(config.output_format === undefined ? {} : { outputFormat: config.output_format }),
    ...(config.output_compression === undefined
      ? {}
      : { outputCompression: config.output_compression }),
    ...(config.seed === undefined ? {} : { seed: config.seed }),
    ...(request.user === undefined ? {} : { user: request.user }),
  }
}

/** A size class goes with an aspect ratio; pixels stand alone. */
function sizeOf({ image_size: size, aspect_ratio: aspectRatio }: ImageConfig) {
  if (size?.includes('x')) return { size }
  return {
    ...(size === undefined ? {} : { sizeClass: size }),
    ...(aspectRatio === undefined ? {} : { aspectRatio }),
  }
}

function lastUserText({ messages }: ChatRequest): string {
  const last = messages.findLast(({ role }) => role === 'user')
  const { content = '' } = last ?? {}
  if (typeof content === 'string') return content
  return (content ?? []).flatMap((part) => ('text' in part ? part.text : [])).join('\n')
}

function refuseInputImages({ messages }: ChatRequest): void {
  for (const [index, { content }] of messages.entries()) {
    const part = Array.isArray(content) ? content.findIndex(({ type }) => type === 'image_url') : -1
    if (part < 0) continue
    throw new GatewayError('not_implemented', 'Image models do not take input images yet.', {
      param: `messages[${index}].content[${part}]`,
      status: 400,
    })
  }
}
