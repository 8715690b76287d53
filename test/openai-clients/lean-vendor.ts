import type { ReceivedRequest, ScriptedAnswer } from '../support/upstream.ts'

type Body = {
  stream?: boolean
  tools?: unknown[]
  response_format?: { type: string }
  messages: { role: string; content: unknown }[]
}

/** The content of the vendor's answer to each kind of request. */
export const said = {
  text: 'Hello there.',
  weather: 'It is 21 degrees in Ulm.',
  picture: 'I see a pixel.',
  place: { city: 'Ulm', degrees: 21 },
}

/**
 * A vendor with minimal answers: no ids, types and indexes, arguments as an object, no finish reason in whole
 * answers and two in streams. The gateway must add what clients need.
 */
export function leanVendor({ body }: ReceivedRequest): ScriptedAnswer {
  const { stream = false, ...asked } = body as Body
  const message = messageTo(asked)
  if (!stream) return { body: { choices: [{ message }] } }
  const words = typeof message.content === 'string' ? message.content.split(/(?<= )/) : []
  const deltas = words.length > 0 ? words.map((content) => ({ content })) : [message]
  const events = deltas.map((delta) => `data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`)
  const end = `data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: 'stop' }] })}\n\n`
  return { pieces: [': wait\n\n', ...events, end, end, 'data: [DONE]\n\n'] }
}

function messageTo({ tools = [], response_format: format, messages }: Omit<Body, 'stream'>): {
  content?: string
  tool_calls?: object[]
} {
  const last = messages.at(-1)!
  if (last.role === 'tool') return { content: said.weather }
  if (tools.length > 0) {
    return { tool_calls: [{ function: { name: 'weather', arguments: { city: 'Ulm' } } }] }
  }
  if (format?.type === 'json_schema') return { content: JSON.stringify(said.place) }
  return { content: JSON.stringify(messages).includes('data:image/png') ? said.picture : said.text }
}
