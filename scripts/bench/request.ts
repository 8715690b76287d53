import { pictureToEdit } from './replies.ts'
import type { Workload } from './workloads.ts'

const chatBytes = 590
const counterDigits = 12
const placeholder = '#'.repeat(counterDigits)

export type Request = {
  /** Makes a copy of the request's bytes for one connection. */
  copy: () => Buffer
  /** Writes a number into the prompt, so that the gateway does not answer from its cache. */
  stamp: (copy: Buffer, counter: number) => void
}

export const requestFor = (
  { kind }: Pick<Workload, 'kind'>,
  { model, key }: { model: string; key: string },
): Request => {
  const path = kind.startsWith('tool-') ? '/mcp' : paths[kind]
  const body = JSON.stringify(bodyFor(kind, model))
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    'content-type: application/json',
    `authorization: Bearer ${key}`,
    `content-length: ${body.length}`,
    ...(kind === 'tool-list-modern' ? modernHeaders : []),
  ].join('\r\n')
  const bytes = Buffer.from(`${head}\r\n\r\n${body}`)
  const at = bytes.indexOf(placeholder)
  return {
    copy: () => Buffer.from(bytes),
    stamp: (copy, counter) =>
      void copy.write(String(counter).padStart(counterDigits, '0'), at, 'latin1'),
  }
}

const paths: Partial<Record<Workload['kind'], string>> = {
  chat: '/v1/chat/completions',
  stream: '/v1/chat/completions',
  'vendor-stream': '/v1/chat/completions',
  response: '/v1/responses',
  'response-stream': '/v1/responses',
  message: '/v1/messages',
  'message-stream': '/v1/messages',
  image: '/v1/images/generations',
  edit: '/v1/images/edits',
}

/** Headers and metadata that the newest MCP revision requires in each request. */
const modernHeaders = ['mcp-protocol-version: 2026-07-28', 'mcp-method: tools/list']
const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
}

const bodyFor = (kind: Workload['kind'], model: string): object => {
  if (kind === 'image') return pictureBody(model)
  if (kind === 'edit') return { ...pictureBody(model), images: [{ image_url: pictureToEdit() }] }
  if (kind === 'tool-list') return message(placeholder, 'tools/list')
  if (kind === 'tool-list-modern') return message(placeholder, 'tools/list', { _meta: modernMeta })
  if (kind === 'tool-chat') return toolCall('chat', chatBody(model, 'chat'))
  if (kind === 'tool-image') return toolCall('generate-image', pictureBody(model))
  const [api, isStreamed] = kind.split('-')
  const chat = chatBody(model, kind === 'vendor-stream' ? 'stream' : kind)
  if (api === 'response') return responseBody(chat, isStreamed === 'stream')
  if (api === 'message') return messageBody(chat, isStreamed === 'stream')
  return chat
}

const toolCall = (name: string, input: object): object =>
  message(1, 'tools/call', { name, arguments: input })

const message = (id: string | number, method: string, params?: object): object => ({
  jsonrpc: '2.0',
  id,
  method,
  ...(params && { params }),
})

const pictureBody = (model: string): object => ({
  model,
  prompt: `A red fox in the snow, number ${placeholder}.`,
  n: 1,
  size: '1024x1024',
})

type Chat = {
  model: string
  messages: { role: string; content: string }[]
  temperature: number
  max_tokens: number
}

const responseBody = ({ messages, max_tokens, ...same }: Chat, stream: boolean): object => ({
  ...same,
  input: messages,
  max_output_tokens: max_tokens,
  store: false,
  stream,
})

const messageBody = (
  { messages: [system, ...messages], ...same }: Chat,
  stream: boolean,
): object => ({
  ...same,
  system: system?.content,
  messages,
  stream,
})

// Padded, so that all requests have the same length, independent of the model's name.
const chatBody = (model: string, kind: Workload['kind']): Chat => {
  const stream = { stream: true, stream_options: { include_usage: true } }
  const withText = (text: string): Chat => ({
    model,
    messages: [
      { role: 'system', content: 'You are a careful assistant who answers in plain words.' },
      { role: 'user', content: `Question ${placeholder}: ${text}` },
    ],
    temperature: 0.7,
    max_tokens: 400,
    ...(kind === 'stream' && stream),
  })
  const missingBytes = chatBytes - JSON.stringify(withText('')).length
  return withText('why is the sky blue? '.repeat(30).slice(0, missingBytes))
}
