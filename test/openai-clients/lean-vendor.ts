import { pixel } from '../support/pixel.ts'
import type { ReceivedRequest, ScriptedAnswer } from '../support/upstream.ts'

type Body = {
  stream?: boolean
  tools?: { function?: { name?: string } }[]
  response_format?: { type: string }
  messages: { role: string; content: unknown }[]
}

/** The content of the vendor's answer to each kind of request. */
export const said = {
  text: 'Hello there.',
  weather: 'It is 21 degrees in Ulm.',
  picture: 'I see a pixel.',
  place: { city: 'Ulm', degrees: 21 },
  drawn: 'Here is the pixel.',
}

/**
 * A vendor with minimal answers: no ids, types and indexes, arguments as an object, no finish reason in whole
 * answers and two in streams. The gateway must add what clients need.
 */
export function leanVendor({ path, body }: ReceivedRequest): ScriptedAnswer {
  if (path === '/v1/images/generations') {
    return { body: { created: 1, data: [{ b64_json: pixel.slice(pixel.indexOf(',') + 1) }] } }
  }
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
  const draws = tools.some((tool) => tool.function?.name === 'image_generation')
  if (draws && last.role === 'tool') return { content: said.drawn }
  if (draws && !seesPicture(messages)) {
    return { tool_calls: [{ function: { name: 'image_generation', arguments: drawing } }] }
  }
  if (draws) return { content: said.picture }
  if (last.role === 'tool') return { content: said.weather }
  if (tools.length > 0) {
    return { tool_calls: [{ function: { name: 'weather', arguments: { city: 'Ulm' } } }] }
  }
  if (format?.type === 'json_schema') return { content: JSON.stringify(said.place) }
  return { content: seesPicture(messages) ? said.picture : said.text }
}

const drawing = { prompt: 'A pixel' }

function seesPicture(messages: Body['messages']): boolean {
  return JSON.stringify(messages).includes('data:image/png')
}
