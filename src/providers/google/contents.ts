import type { Blob, Content, Part } from '@google/genai'
import type { components } from '../../../generated/types.ts'
import { readDataUrl } from '../../bytes/base64.ts'
import { jsonObject, membersOf } from '../../core/any-json.ts'
import { dropped, type Target } from '../../core/model.ts'
import type { Notes } from '../wire/fields.ts'
import {
  answerAtEnd,
  argumentsOf,
  hoisted,
  instructionsAlone,
  instructionsOf,
  partsOf,
  type Message,
  type PlacedPart,
} from '../wire/parts.ts'

type Schemas = components['schemas']
type ToolMessage = Extract<Message, { role: 'tool' }>
type ToolCall = NonNullable<Extract<Message, { role: 'assistant' }>['tool_calls']>[number]
export type WireContent = Content & { role: 'user' | 'model'; parts: Part[] }

const imageTypes: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/webp',
  'image/heic',
  'image/heif',
])
/** Media types by the `format` of an `input_audio` part. The URL of a `file` part states its type. */
const audioTypes: Readonly<Record<string, string>> = {
  wav: 'audio/wav',
  mp3: 'audio/mp3',
  aiff: 'audio/aiff',
  aac: 'audio/aac',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
}
const fileTypes = /^(?:application\/pdf|(?:text|image|audio|video)\/[\w.+-]+)$/
/**
 * Matches Gemini 3 and later. These models require the thought signature of a returned call, match
 * calls of one function by their ids, read images in tool results, and enforce JSON together with
 * tools (docs/vendors.md#gemini-request).
 */
export const newer = /^gemini-(?:[3-9]|\d\d)/
/** Google and Vertex AI accept this value instead of a lost thought signature. */
const noSignature = 'skip_thought_signature_validator'

/** Splits a conversation into system texts and turns of user and model. */
export function writeContents(
  messages: readonly Message[],
  { model, upstreamModel, provider }: Target,
  notes: Notes,
): { system: string[]; contents: WireContent[] } {
  const system: string[] = []
  const contents: WireContent[] = []
  const names = new Map<string, string>()
  let lastRole: Message['role'] | undefined
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`
    if (message.role === 'system' || message.role === 'developer') {
      for (const { part } of instructionsOf(message, path, notes.problems)) system.push(part.text)
      if (contents.length > 0) notes.warnings.push(hoisted('Gemini', path, message.role))
      continue
    }
    const parts = partsOfMessage(message, { path, upstreamModel, provider, names, notes })
    const last = contents.at(-1)
    // Consecutive messages of one role form one turn: results of parallel calls stay together.
    if (last !== undefined && lastRole === message.role) {
      for (const part of parts) last.parts.push(part)
    } else if (parts.length > 0) {
      contents.push({ role: message.role === 'assistant' ? 'model' : 'user', parts })
      lastRole = message.role
    }
  }
  if (contents.at(-1)?.role === 'model') notes.problems.push(...answerAtEnd(messages, model))
  if (contents.length > 0 || system.length === 0) return { system, contents }
  notes.warnings.push(instructionsAlone('Gemini'))
  return { system: [], contents: [{ role: 'user', parts: system.map((text) => ({ text })) }] }
}

type Place = Pick<Target, 'upstreamModel' | 'provider'> & {
  path: string
  names: Map<string, string>
  notes: Notes
}

function partsOfMessage(message: Message, place: Place): Part[] {
  const { path, names, notes } = place
  if (message.role === 'tool') return resultOf(message, place)
  const parts = partsOf(message, path).flatMap((placed) => partOf(placed, notes))
  if (message.role !== 'assistant') return parts
  const calls = (message.tool_calls ?? []).flatMap((call, index) => {
    names.set(call.id, call.function.name)
    return callOf(call, index, place)
  })
  return [...parts, ...calls]
}

function partOf({ part, param }: PlacedPart, notes: Notes): Part[] {
  if (part.type === 'text') return [{ text: part.text }]
  const inlineData = mediumOf(part, param, notes)
  return inlineData === undefined ? [] : [{ inlineData }]
}

type Medium = Exclude<PlacedPart['part'], Schemas['TextPart']>

function mediumOf(part: Medium, param: string, notes: Notes): Blob | undefined {
  switch (part.type) {
    case 'image_url':
      return imageOf(part, param, notes)
    case 'input_audio': {
      const { format, data } = part.input_audio
      const mimeType = Object.hasOwn(audioTypes, format) ? audioTypes[format]! : undefined
      if (mimeType !== undefined) return { mimeType, data }
      const message = `Gemini accepts audio as ${Object.keys(audioTypes).join(', ')}.`
      const problem = { param: `${param}.input_audio.format`, message }
      notes.problems.push({ ...problem, code: 'invalid_value' })
      return undefined
    }
    case 'file': {
      const { file_data: url = '', file_id: id, filename } = part.file
      const warnIfLost = (name: string, lost: string | undefined, reason: string) => {
        if (lost === undefined || url === '') return
        notes.warnings.push(dropped(`${param}.file.${name}`, lost, reason))
      }
      warnIfLost('file_id', id, 'Only OpenAI can read this file id.')
      warnIfLost('filename', filename, 'Gemini does not accept file names.')
      const data = readDataUrl(url)
      if (data !== undefined && fileTypes.test(data.mediaType)) {
        return { mimeType: data.mediaType, data: data.base64 }
      }
      const message = 'Gemini accepts a base64 data URL of a PDF, a text, an image, audio or video.'
      notes.problems.push({ param: `${param}.file.file_data`, message, code: 'invalid_value' })
      return undefined
    }
  }
}

function imageOf(
  { image_url: { url, detail } }: Schemas['ImagePart'],
  param: string,
  notes: Notes,
): Blob | undefined {
  if (detail === 'low' || detail === 'high') {
    const reason = 'Gemini has no detail levels for images.'
    notes.warnings.push(dropped(`${param}.image_url.detail`, detail, reason))
  }
  // Placeholder: the adapter downloads the image and then translates the request again.
  if (!url.startsWith('data:')) return { mimeType: 'image/*', data: '' }
  const data = readDataUrl(url)
  if (data !== undefined && imageTypes.has(data.mediaType)) {
    return { mimeType: data.mediaType, data: data.base64 }
  }
  const message = 'Gemini accepts a base64 data URL of a PNG, JPEG, WebP, HEIC or HEIF.'
  notes.problems.push({ param: `${param}.image_url.url`, message, code: 'invalid_value' })
  return undefined
}

function callOf(call: ToolCall, index: number, place: Place): Part[] {
  const { path, upstreamModel, provider, notes } = place
  const { name } = call.function
  const args = argumentsOf(call, `${path}.tool_calls[${index}]`, notes.problems)
  if (args === undefined) return []
  const signature = signatureOf(call, provider.id)
  const id = newer.test(upstreamModel) ? { id: call.id } : {}
  const part: Part = { functionCall: { ...id, name, args } }
  if (signature !== undefined) part.thoughtSignature = signature
  // Only the first of several parallel calls is signed.
  else if (index === 0 && newer.test(upstreamModel)) part.thoughtSignature = noSignature
  return [part]
}

/** Characters of neither alphabet of base64; proto3 JSON accepts both, with and without padding. */
const notBase64 = /[^\w+/-]/

/** The signature of a call; undefined if another provider made it, which the vendor refuses, or if it is malformed. */
function signatureOf({ extra_content: extra }: ToolCall, providerId: string): string | undefined {
  // A signature that names no provider comes from Google's own API.
  const { thought_signature: signature, provider = 'google' } = membersOf(extra?.['google'])
  if (provider !== providerId || typeof signature !== 'string') return undefined
  const text = signature.replace(/={1,2}$/, '')
  return text === '' || notBase64.test(text) || text.length % 4 === 1 ? undefined : signature
}

/**
 * Parts for the result of a tool. A text that is not a JSON object is wrapped in an object. Images
 * are parts of the result, or follow the result for models that do not read images in results.
 */
function resultOf(message: ToolMessage, { path, upstreamModel, names, notes }: Place): Part[] {
  const name = names.get(message.tool_call_id) ?? message.tool_call_id
  const texts: string[] = []
  const shown: { inlineData: Blob }[] = []
  for (const { part, param } of partsOf(message, path)) {
    const inlineData = part.type === 'text' ? undefined : mediumOf(part, param, notes)
    if (part.type === 'text') texts.push(part.text)
    else if (inlineData !== undefined) shown.push({ inlineData })
  }
  const text = texts.join('\n')
  const answer = { name, response: jsonObject(text) ?? { result: text } }
  if (!newer.test(upstreamModel)) return [{ functionResponse: answer }, ...shown]
  const parts = shown.length === 0 ? {} : { parts: shown }
  return [{ functionResponse: { id: message.tool_call_id, ...answer, ...parts } }]
}
