import type { components } from '../../../generated/types.ts'
import type { ChatRequest } from '../chat/chat.ts'
import { hasDefaultValue } from '../chat/default-values.ts'
import { messageText } from '../chat/prompt.ts'
import { unlistedMembers } from '../chat/unlisted.ts'
import { GatewayError } from '../error.ts'
import { prune } from '../prune.ts'
import { dropped, type Warning } from '../model.ts'
import {
  joinTexts,
  seedMax,
  type ImageRequest,
  type NamedAddress,
  type PromptText,
} from './image.ts'

type Schemas = components['schemas']
type Message = ChatRequest['messages'][number]
type Groups = Schemas['ImageConfig']
type NamesIn<Group> = Group extends unknown ? keyof Group : never
type ValuesIn<Group, Name> = Group extends { [Key in Name & string]?: infer Value } ? Value : never
/** The options of all provider groups; the schema of the model's group has been checked already. */
export type ImageConfig = { [Name in NamesIn<Groups>]?: ValuesIn<Groups, Name> }

/** The most pictures of one request, as in the images API. */
const imagesMax = 10

/** The input pictures: all pictures of the conversation in order, including generated pictures. */
export function conversationImages({ messages }: Pick<ChatRequest, 'messages'>): NamedAddress[] {
  return messages.flatMap((message, index) => {
    const { content } = message
    const parts = Array.isArray(content) ? content : []
    const made = message.role === 'assistant' ? (message.images ?? []) : []
    const named = ({ url }: { url: string }, place: string): NamedAddress => ({
      address: url,
      param: `messages[${index}].${place}.image_url.url`,
    })
    return [
      ...parts.flatMap((part, place) =>
        part.type === 'image_url' ? [named(part.image_url, `content[${place}]`)] : [],
      ),
      ...made.map((image, place) => named(image.image_url, `images[${place}]`)),
    ]
  })
}

/** The input pictures; those before the user's last message may be left out. */
export function conversationInputs(request: ChatRequest) {
  const content = request.messages.findLast(({ role }) => role === 'user')?.content
  const parts = Array.isArray(content) ? content : []
  const newCount = parts.filter(({ type }) => type === 'image_url').length
  return { addresses: conversationImages(request), param: 'messages', newCount }
}

/** The fields of a chat request that an image model uses; null counts as absent. */
const usedFields = new Set<string>([
  'model',
  'models',
  'messages',
  'image_config',
  'n',
  'seed',
  'user',
  'safety_identifier',
  'stream',
  'stream_options',
  'modalities',
])

/** A warning for each field that an image model ignores. */
export function ignoredFields(request: ChatRequest, config: ImageConfig): Warning[] {
  const fields = Object.entries(request)
    .filter(([name, value]) => !usedFields.has(name) && !hasDefaultValue(name, value))
    .map(([name, value]) => dropped(name, value, `Image models do not support '${name}'.`))
  const { seed } = request
  if (seed === undefined || seed === null || config.seed !== undefined || isSeed(seed)) {
    return fields
  }
  return [...fields, dropped('seed', seed, `The seed of a picture must be from 0 to ${seedMax}.`)]
}

/** Characters of an ignored text that a warning quotes. */
const quotedCharactersMax = 100

/**
 * A warning for each part of the conversation that is not sent to an image model: results of tools, files,
 * audio, tool calls, and other members.
 */
export function ignoredMessages(request: ChatRequest): Warning[] {
  const found = request.messages.flatMap((message, index): Warning[] => {
    const path = `messages[${index}]`
    const warn = (name: string, value: unknown, reason: string) =>
      value === undefined ? [] : [dropped(`${path}.${name}`, value, reason)]
    const said = messageText(message).slice(0, quotedCharactersMax)
    const isRead = isSaid(message) || said.trim() === ''
    return [
      ...warn('content', isRead ? undefined : said, unreadText),
      ...ignoredCalls(message).flatMap((name) => warn(name, 'called', unreadCalls)),
      ...warn('name', authorOf(message), unreadName),
      ...ignoredParts(message, path),
    ]
  })
  return [...found, ...unlistedMembers(request, 'An image model has no such parameter.')]
}

const unreadCalls = 'Tool calls are not sent to image models.'
const unreadName = "The name of a message's author is not sent to image models."
const unreadText = 'Results of tools are not sent to image models.'

function ignoredCalls(message: Message): string[] {
  if (message.role !== 'assistant') return []
  return [
    ...(message.tool_calls?.length ? ['tool_calls'] : []),
    ...(message.function_call ? ['function_call'] : []),
  ]
}

/** The author's name; undefined for results of functions, whose `name` is the function. */
function authorOf(message: Message): string | undefined {
  return message.role === 'tool' || message.role === 'function' ? undefined : message.name
}

function ignoredParts({ content }: Message, path: string): Warning[] {
  return (Array.isArray(content) ? content : []).flatMap((part, place) => {
    const param = `${path}.content[${place}]`
    if (part.type === 'file' || part.type === 'input_audio') {
      return [dropped(param, part.type, `Image models do not accept '${part.type}' parts.`)]
    }
    const detail = part.type === 'image_url' ? part.image_url.detail : undefined
    if (detail === undefined || detail === 'auto') return []
    return [dropped(`${param}.image_url.detail`, detail, 'Image models have no detail setting.')]
  })
}

function isSeed(seed: number): boolean {
  return seed >= 0 && seed <= seedMax
}

/**
 * Converts a conversation to an image request: the prompt is its texts in order, the instructions first. The
 * input pictures come from `conversationImages`. Throws a GatewayError.
 */
export function chatToImage(request: ChatRequest, config: ImageConfig): ImageRequest {
  const texts = promptTexts(request)
  if (config.n !== undefined && (request.n ?? config.n) !== config.n) {
    const text = "'n' and 'image_config.n' differ. Send only one of them."
    throw new GatewayError('invalid_value', text, { param: 'n' })
  }
  const n = config.n ?? request.n ?? 1
  if (n > imagesMax) {
    const text = `An image model makes at most ${imagesMax} images.`
    throw new GatewayError('invalid_value', text, { param: 'n' })
  }
  const { model, models, user } = request
  const { quality, background, complexity, image_size: size, aspect_ratio: aspectRatio } = config
  const seed = config.seed ?? request.seed
  const options = Object.entries(config).filter(([name]) => !canonicalOptions.has(name))
  const named = {
    texts: texts.length === 1 ? undefined : texts,
    outputFormat: config.output_format,
    outputCompression: config.output_compression,
    seed: typeof seed === 'number' && isSeed(seed) ? seed : undefined,
    safetyIdentifier: request.safety_identifier || undefined,
    options: options.length === 0 ? undefined : Object.fromEntries(options),
    // A size class is combined with an aspect ratio; a size in pixels replaces both.
    ...(size?.includes('x') ? { size } : { sizeClass: size, aspectRatio }),
  }
  const settings = prune({ models, quality, background, complexity, user, ...named })
  return { model, prompt: joinTexts(texts), n, ...settings }
}

/** The members of `image_config` that are read here; the others are options of one vendor. */
const canonicalOptions: ReadonlySet<string> = new Set<keyof ImageConfig>([
  'n',
  'image_size',
  'aspect_ratio',
  'quality',
  'background',
  'complexity',
  'seed',
  'output_format',
  'output_compression',
  'mask',
])

/** The texts of the prompt, instructions first. Throws a GatewayError if the user wrote no text. */
function promptTexts({ messages }: ChatRequest): PromptText[] {
  const isBlank = (message: Message) => messageText(message).trim() === ''
  if (!messages.some((message) => message.role === 'user' && !isBlank(message))) {
    const last = messages.findLastIndex(({ role }) => role === 'user')
    throw new GatewayError('invalid_value', 'An image model needs a user message with a text.', {
      param: last < 0 ? 'messages' : `messages[${last}].content`,
    })
  }
  const texts = messages
    .filter((message) => isSaid(message) && !isBlank(message))
    .map((message) => {
      const isInstruction = message.role === 'system' || message.role === 'developer'
      return { text: messageText(message), isInstruction }
    })
  return [...texts.filter((one) => one.isInstruction), ...texts.filter((one) => !one.isInstruction)]
}

/** Whether the text of a message is part of the prompt. */
function isSaid({ role }: Message): boolean {
  return role !== 'tool' && role !== 'function'
}
