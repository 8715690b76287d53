import { expect } from 'chai'
import type OpenAI from 'openai'
import { chatVendors, startVendorGateway, type ChatVendor } from './chat-vendors.ts'
import type { Spoken } from './spoken.ts'

type Body = Record<string, unknown>
type Item = Body & { type: string; id: string; encrypted_content: string }
export type Answer = Body & { id: string; status: string; output: Item[]; usage: Body }
type Init = { key?: string; headers?: Record<string, string>; to?: string }

export const summary = 'The user counts boats. There are two: Ann and Bea.'
export const says: Spoken = {
  reasoning: ['I sum it up.'],
  text: ['The user counts boats. ', 'There are two: Ann and Bea.'],
}
export const counts: Spoken = { text: ['Two.'], counts: { input: 30, output: 2 } }
export const user = (content: string) => ({ role: 'user' as const, content })
export const trigger = { type: 'compaction_trigger' } as OpenAI.Responses.ResponseInputItem
export const talk = [
  user('Count the boats.'),
  { type: 'function_call', call_id: 'call_1', name: 'list', arguments: '{"place":"harbour"}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'Ann, Bea' },
] as OpenAI.Responses.ResponseInputItem[]
export const list = {
  type: 'function',
  name: 'list',
  strict: false,
  parameters: { type: 'object', properties: {} },
}

/** A gateway with three vendors, and what the tests of compactions do with it. */
export async function startCompactions() {
  const house = await startVendorGateway()
  const { gateway, upstreams } = house
  const answers = (spoken: Spoken) => {
    for (const { id, double } of chatVendors) upstreams[id].answer(double(() => spoken))
  }
  const post = (body: object, { key = gateway.liveKey, headers = {}, to = '' }: Init = {}) =>
    gateway.post(`/v1/responses${to}`, body, { key, headers })
  const created = async (body: object) => {
    const response = await post(body)
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    return JSON.parse(text) as Answer
  }
  return {
    ...house,
    answers,
    post,
    created,
    /** The output of a compaction of the talk. */
    compacted: async (model: string, more: object = {}) => {
      const body = { model, input: [...talk, trigger], tools: [list], store: false, ...more }
      return (await created(body)).output
    },
    lastSent: (vendor: ChatVendor['id']) => upstreams[vendor].requests.at(-1)!.body as Body,
    sentCount: () => chatVendors.reduce((sum, { id }) => sum + upstreams[id].requests.length, 0),
  }
}
