import { expect } from 'chai'
import type { ChatRequest } from '../../src/core/chat/chat.ts'
import { vendorOf } from '../../src/providers/index.ts'
import { writeChat } from '../../src/providers/openai-compatible/chat-request.ts'
import { plainDialect } from '../../src/providers/openai-compatible/dialect.ts'
import { anthropicDouble, anthropicKey } from './anthropic-upstream.ts'
import type { Body } from './closed-chat/schema.ts'
import { checkSent, closedChats } from './closed-chat/vendors.ts'
import { geminiDouble, geminiKey } from './gemini-upstream.ts'
import { openAiDouble, openAiKey } from './openai-upstream.ts'
import { pixel } from './pixel.ts'
import { modelOf } from './route.ts'
import { Refused } from './spoken.ts'
import type { ReceivedRequest, ScriptedAnswer } from './upstream.ts'

type Members = Partial<ChatRequest> & Record<string, unknown>
export const hello: ChatRequest['messages'] = [{ role: 'user', content: 'Hello' }]

/** A user message with one content part. */
export const showing = (part: Part): ChatRequest['messages'] => [{ role: 'user', content: [part] }]
type Part = Exclude<ChatRequest['messages'][number]['content'], string | null | undefined>[number]
export const pdf = 'data:application/pdf;base64,JVBERi0xLjcK'
export const note = `data:text/csv;base64,${Buffer.from('a,ä\n').toString('base64')}`

/** A conversation with refusals of a model, in both forms that OpenAI allows. */
export const refusing: ChatRequest['messages'] = [
  ...hello,
  { role: 'assistant', content: null, refusal: 'No.' },
  ...hello,
  { role: 'assistant', content: [{ type: 'refusal', refusal: 'Never.' }] },
  ...hello,
]
/** Instructions whose second message contains an image. */
export const shownInstructions: ChatRequest['messages'] = [
  { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
  { role: 'developer', content: [{ type: 'image_url', image_url: { url: pixel } }] },
  ...hello,
]

/** A request, and the expected result of converting it to the vendor's format. */
export type WireRow = {
  name: string
  model: string
  request: Members
  /** Expected members of the vendor's request, by dotted path. */
  wire?: Record<string, unknown>
  /** `param` of each expected warning. */
  warned?: string[]
  /** `param` of each expected problem. */
  refused?: string[]
}

/** Converts a request to the format of its model's vendor. */
export function write({ model: id, request }: Pick<WireRow, 'model' | 'request'>) {
  const model = modelOf(id)
  const { provider } = model.row
  const route = { model, provider: { id: provider }, upstreamModel: model.row.upstream_model }
  const whole: ChatRequest = { model: id, messages: hello, ...request }
  return vendorOf(provider)?.writeChat(whole, route) ?? writeChat(whole, route, plainDialect)
}

/** The double's answer to a request body; undefined for a vendor without a double. */
export function answerTo(id: string, written: object): ScriptedAnswer | undefined {
  const { provider, upstream_model: model } = modelOf(id).row
  const body = JSON.parse(JSON.stringify(written)) as object
  const say = () => ({ text: ['Hi'] })
  const json = { 'content-type': 'application/json' }
  const request = (path: string, headers: Record<string, string>) =>
    ({ method: 'POST', path, headers: { ...json, ...headers }, body }) as ReceivedRequest
  switch (provider) {
    case 'openai':
      return openAiDouble(say)(
        request('input' in body ? '/responses' : '/chat/completions', {
          authorization: `Bearer ${openAiKey}`,
        }),
      )
    case 'anthropic': {
      const headers = { 'x-api-key': anthropicKey, 'anthropic-version': '2023-06-01' }
      return anthropicDouble(say)(request('/v1/messages', headers))
    }
    case 'google': {
      const path = `/v1beta/models/${model}:generateContent`
      return geminiDouble(say)(request(path, { 'x-goog-api-key': geminiKey }))
    }
    default:
      return closedAnswer(provider, body as Body)
  }
}

/** The answer of a vendor that speaks OpenAI's protocol. */
function closedAnswer(provider: string, body: Body): ScriptedAnswer | undefined {
  if (!(provider in closedChats)) return undefined
  try {
    checkSent(provider, body)
    return { status: 200, body: {} }
  } catch (error) {
    if (error instanceof Refused) return { status: error.status, body: { error: error.message } }
    throw error
  }
}

function at(body: object, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], body)
}

/** Compares the written request of each row with the expected members, and sends it to the vendor's double. */
export function describeWire(rows: readonly WireRow[]): void {
  for (const row of rows) {
    it(row.name, () => {
      const { body, warnings, problems } = write(row)
      for (const [path, value] of Object.entries(row.wire ?? {})) {
        expect(at(body, path), path).to.equal(value)
      }
      expect(warnings.map(({ param }) => param)).to.have.members(row.warned ?? [])
      expect(problems.map(({ param }) => param)).to.deep.equal(row.refused ?? [])
      expect(JSON.stringify(write(row).body)).to.equal(JSON.stringify(body))
      if (row.refused !== undefined) return
      const { status = 200, body: said } = answerTo(row.model, body) ?? {}
      expect(status, JSON.stringify(said)).to.equal(200)
    })
  }
}
