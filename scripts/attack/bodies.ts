import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { chatLists, chatPlaces, pictureText } from './chat-bodies.ts'
import { boundary, forms } from './form-bodies.ts'
import { fillings, times } from './json-bodies.ts'

/** A request that is meant to block the event loop, or an honest request to compare with. */
export type Body = {
  /** The endpoint, the place in the body and the value there. */
  name: string
  path: string
  headers: Record<string, string>
  /** Makes the body of about this many bytes. */
  write: (bytes: number) => Buffer
  /** Whether a usual client may send such a request. */
  isHonest: boolean
}

type Models = { chat: readonly string[]; image: string }
type Face = { name: string; path: string; write: (value: string) => string }

const json = { 'content-type': 'application/json' }
const form = { 'content-type': `multipart/form-data; boundary=${boundary}` }

/** The largest honest requests, then the hostile ones. */
export function bodies(models: Models): Body[] {
  return [
    ...honestBodies(models),
    ...models.chat.flatMap((model, index) => chatBodies(model, index > 0)),
    ...imageBodies(models),
    ...toolBodies(models),
    ...packedBodies(models),
  ]
}

function honestBodies({ chat, image }: Models): Body[] {
  const model = chat[0]!
  const honest = (name: string, path: string, write: (bytes: number) => string): Body => ({
    ...jsonBody(name, path, write),
    isHonest: true,
  })
  const paths = { chat: '/v1/chat/completions', edits: '/v1/images/edits' }
  return [
    honest('chat: a long text', paths.chat, (bytes) =>
      chatText(model, 'a text. '.repeat(bytes / 8)),
    ),
    honest('chat: a document', paths.chat, (bytes) => {
      const data = `data:application/pdf;base64,${'A'.repeat(bytes - (bytes % 4))}`
      const content = [
        { type: 'text', text: 'Read.' },
        { type: 'file', file: { filename: 'a.pdf', file_data: data } },
      ]
      return JSON.stringify({ model, messages: [{ role: 'user', content }] })
    }),
    honest('chat: a long history', paths.chat, (bytes) => {
      const turn = [
        { role: 'user', content: 'What is it? '.repeat(400) },
        { role: 'assistant', content: 'It is this. '.repeat(400) },
      ]
      const messages = Array.from({ length: bytes / 9600 }, () => turn).flat()
      return JSON.stringify({ model, messages })
    }),
    honest('edits: pictures', paths.edits, (bytes) => {
      const url = `data:image/png;base64,${pictureText(bytes / 4)}`
      const images = Array.from({ length: 4 }, () => ({ image_url: url }))
      return JSON.stringify({ model: image, prompt: 'a fox', images })
    }),
  ]
}

function chatText(model: string, content: string): string {
  return JSON.stringify({ model, messages: [{ role: 'user', content }] })
}

/** Places whose value is translated to a vendor's format. Models other than the first test only these. */
const translated = new Set(['parameters', 'schema', 'content'])

function chatBodies(model: string, isTranslated: boolean): Body[] {
  const face = { name: `chat ${model}`, path: '/v1/chat/completions' }
  const places = Object.entries(chatPlaces(model)).filter(
    ([place]) => !isTranslated || translated.has(place),
  )
  return [
    ...faceBodies(face, Object.fromEntries(places), chatLists(model)),
    jsonBody(
      `${face.name}: spaces before it`,
      face.path,
      (bytes) => ' '.repeat(bytes) + chatText(model, 'hi'),
    ),
  ]
}

function imageBodies({ image }: Models): Body[] {
  const model = `"model":${JSON.stringify(image)}`
  const generations = {
    prompt: (value: string) => `{${model},"prompt":${value}}`,
    unknown: (value: string) => `{${model},"prompt":"a","unknown":${value}}`,
    size: (value: string) => `{${model},"prompt":"a","size":${value}}`,
    models: (value: string) => `{${model},"prompt":"a","models":${value}}`,
    'the body': (value: string) => value,
  }
  const edits = {
    images: (value: string) => `{${model},"prompt":"a","images":${value}}`,
    image_url: (value: string) => `{${model},"prompt":"a","images":[{"image_url":${value}}]}`,
    unknown: (value: string) => `{${model},"prompt":"a","images":[],"unknown":${value}}`,
  }
  return [
    ...faceBodies({ name: 'generations', path: '/v1/images/generations' }, generations),
    ...faceBodies({ name: 'edits', path: '/v1/images/edits' }, edits),
    ...Object.entries(forms).map(([name, write]) => ({
      name: `edits as a form: ${name}`,
      path: '/v1/images/edits',
      headers: form,
      write: (bytes: number) => Buffer.from(write(bytes)),
      isHonest: false,
    })),
  ]
}

function toolBodies({ chat }: Models): Body[] {
  const head = '"jsonrpc":"2.0","id":1'
  const call = (given: string) =>
    `{${head},"method":"tools/call","params":{"name":"chat",${given}}}`
  const list = `{${head},"method":"tools/list"}`
  return faceBodies(
    { name: 'tools', path: '/mcp' },
    {
      arguments: (value) => call(`"arguments":${value}`),
      messages: (value) => call(`"arguments":{"model":"${chat[0]}","messages":${value}}`),
      _meta: (value) => call(`"_meta":{"progressToken":${value}}`),
      id: (value) => `{"jsonrpc":"2.0","id":${value},"method":"tools/list"}`,
      method: (value) => `{${head},"method":${value}}`,
      params: (value) => `{${head},"method":"ping","params":${value}}`,
      'the body': (value) => value,
    },
    { batch: (bytes) => `[${times(list, bytes, ',')}]` },
  )
}

const quickly = { [constants.BROTLI_PARAM_QUALITY]: 1 }

/** Compressed bodies, whose decompressed size is at most the largest body allowed. */
function packedBodies({ chat }: Models): Body[] {
  const packers = {
    gzip: gzipSync,
    deflate: deflateSync,
    br: (text: string) => brotliCompressSync(text, { params: quickly }),
    zstd: zstdCompressSync,
  }
  return Object.entries(packers).flatMap(([encoding, pack]) =>
    [1, 4].map((more) => ({
      name: `chat packed as ${encoding}: ${more} times as much`,
      path: '/v1/chat/completions',
      headers: { ...json, 'content-encoding': encoding },
      write: (bytes: number) => pack(chatText(chat[0]!, 'a'.repeat(bytes * more))),
      isHonest: false,
    })),
  )
}

function faceBodies(
  { name, path }: Pick<Face, 'name' | 'path'>,
  places: Record<string, Face['write']>,
  lists: Record<string, (bytes: number) => string> = {},
): Body[] {
  const filled = Object.entries(places).flatMap(([place, put]) =>
    Object.entries(fillings).map(([what, fill]) =>
      jsonBody(`${name}: ${place}: ${what}`, path, (bytes) => put(fill(bytes))),
    ),
  )
  const listed = Object.entries(lists).map(([what, write]) =>
    jsonBody(`${name}: ${what}`, path, write),
  )
  return [...filled, ...listed]
}

function jsonBody(name: string, path: string, write: (bytes: number) => string): Body {
  const headers = {
    ...json,
    ...(path === '/mcp' ? { accept: 'application/json, text/event-stream' } : {}),
  }
  return { name, path, headers, write: (bytes) => Buffer.from(write(bytes)), isHonest: false }
}
