import type { components } from '../../../generated/types.ts'
import type { ChatRequest } from '../chat/chat.ts'
import { GatewayError } from '../error.ts'
import type { Warning } from '../model.ts'
import type { AskedImage, NamedAddress } from './image.ts'

type Schemas = components['schemas']
/** The options of every provider group together; which of them a model takes was checked before. */
export type ImageConfig = Schemas['ImageConfigGoogle'] &
  Partial<Omit<Schemas['ImageConfigOpenai'], 'image_size'>> & { image_size?: string }

/** The schema that checks the `image_config` of a provider's models (the document's groups). */
export type ImageConfigSchema = Extract<keyof Schemas, `ImageConfig${string}`>

/** As many as the images API makes. */
const imagesMax = 10

/** All pictures of a conversation in order: each is an input of the next one. */
export function conversationImages({ messages }: ChatRequest): NamedAddress[] {
  return messages.flatMap((message, index) => {
    const { content } = message
    const parts = Array.isArray(content) ? content : []
    const own = parts.flatMap((part, place) =>
      part.type === 'image_url'
        ? [
            {
              address: part.image_url.url,
              param: `messages[${index}].content[${place}].image_url.url`,
            },
          ]
        : [],
    )
    const made = message.role === 'assistant' ? (message.images ?? []) : []
    return [
      ...own,
      ...made.map(({ image_url: { url } }, place) => ({
        address: url,
        param: `messages[${index}].images[${place}].image_url.url`,
      })),
    ]
  })
}

/** What of a chat request an image model heeds; null stands for nothing. */
const heeded = new Set<string>([
  'model',
  'messages',
  'image_config',
  'n',
  'seed',
  'user',
  'stream',
  'stream_options',
  'modalities',
])

/** What means nothing to an image model, each as a warning. */
export function ignoredFields(request: ChatRequest, config: ImageConfig): Warning[] {
  const fields = Object.entries(request)
    .filter(([name, value]) => !heeded.has(name) && value !== null && value !== undefined)
    .map(([name, value]) => ignored(name, value, `An image model takes no '${name}'.`))
  const { seed } = request
  if (seed === undefined || seed === null || config.seed !== undefined || isSeed(seed)) {
    return fields
  }
  return [...fields, ignored('seed', seed, `A picture's seed is from 0 to ${seedMax}.`)]
}

function ignored(param: string, requested: unknown, reason: string): Warning {
  return { param, requested, applied: null, reason }
}

/** The parts of a conversation that an image model neither reads nor looks at, each as a warning. */
export function ignoredParts({ messages }: ChatRequest): Warning[] {
  return messages.flatMap(({ content }, index) =>
    (Array.isArray(content) ? content : []).flatMap(({ type }, place) => {
      if (type !== 'file' && type !== 'input_audio') return []
      const param = `messages[${index}].content[${place}]`
      return ignored(param, type, `An image model takes no '${type}'.`)
    }),
  )
}

const seedMax = 2_147_483_647

function isSeed(seed: number): boolean {
  return seed >= 0 && seed <= seedMax
}

/**
 * Reads a conversation with an image model: the last text of the user is the prompt. Its pictures are
 * read apart, from `conversationImages`.
 */
export function chatToImage(request: ChatRequest, config: ImageConfig): AskedImage {
  const prompt = lastUserText(request)
  if (prompt.trim() === '') {
    throw new GatewayError('invalid_value', 'An image model needs a user message with a text.', {
      param: 'messages',
    })
  }
  if (config.n !== undefined && (request.n ?? config.n) !== config.n) {
    throw new GatewayError('invalid_value', "'n' and 'image_config.n' differ. Give one of them.", {
      param: 'n',
    })
  }
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
    ...sizeOf(config),
    ...(config.quality === undefined ? {} : { quality: config.quality }),
    ...(config.background === undefined ? {} : { background: config.background }),
    ...(config.output_format === undefined ? {} : { outputFormat: config.output_format }),
    ...(config.output_compression === undefined
      ? {}
      : { outputCompression: config.output_compression }),
    ...seedIn(request, config),
    ...(request.user === undefined ? {} : { user: request.user }),
  }
}

function seedIn(request: ChatRequest, config: ImageConfig): { seed?: number } {
  const seed = config.seed ?? request.seed ?? undefined
  return seed === undefined || !isSeed(seed) ? {} : { seed }
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
