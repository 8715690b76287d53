import type Anthropic from '@anthropic-ai/sdk'
import { expect } from 'chai'
import type OpenAI from 'openai'
import { anthropicClient } from '../support/anthropic-client.ts'
import { startVendorGateway, type ChatVendor, type VendorGateway } from '../support/chat-vendors.ts'
import { anthropicDouble } from '../support/anthropic-upstream.ts'
import { geminiDouble } from '../support/gemini-upstream.ts'
import { openAiDouble } from '../support/openai-upstream.ts'
import { openAiClient } from '../support/openai-client.ts'
import type { ScriptedAnswer } from '../support/upstream.ts'

type Row = {
  vendor: ChatVendor['id']
  double: typeof openAiDouble
  model: string
  path: string
}

const rows: readonly Row[] = [
  {
    vendor: 'anthropic',
    double: anthropicDouble,
    model: 'claude-sonnet-4-6',
    path: '/v1/messages/count_tokens',
  },
  {
    vendor: 'google',
    double: geminiDouble,
    model: 'gemini-3-flash-preview',
    path: '/v1beta/models/gemini-3-flash-preview:countTokens',
  },
  { vendor: 'openai', double: openAiDouble, model: 'gpt-4.1', path: '/responses/input_tokens' },
  { vendor: 'openai', double: openAiDouble, model: 'gpt-6.2-sol', path: '/responses/input_tokens' },
]

const tokens = 4711
const schema = { type: 'object' as const, properties: { place: { type: 'string' } } }
const messageTools: Anthropic.Tool[] = [{ name: 'look', input_schema: schema }]
const responseTools: OpenAI.Responses.Tool[] = [
  { type: 'function', name: 'look', parameters: schema, strict: false },
]
const text = 'What is in Rome?'

describe('counting tokens by the vendor', () => {
  let vendors: VendorGateway
  before(async () => {
    vendors = await startVendorGateway()
  })
  after(() => vendors.stop())

  const countMessage = (model: string) =>
    anthropicClient(vendors.gateway, vendors.gateway.liveKey)
      .messages.countTokens({
        model,
        system: 'Be brief.',
        messages: [{ role: 'user', content: text }],
        tools: messageTools,
        tool_choice: { type: 'auto' },
        thinking: { type: 'disabled' },
      })
      .withResponse()
  const countResponse = (model: string) =>
    openAiClient(vendors.gateway, vendors.gateway.liveKey)
      .responses.inputTokens.count({
        model,
        instructions: 'Be brief.',
        input: text,
        tools: responseTools,
      })
      .withResponse()

  for (const { vendor, double, model, path } of rows) {
    const answer = (answering: ScriptedAnswer | undefined) => {
      const upstream = vendors.upstreams[vendor]
      upstream.requests.length = 0
      const counts = { input: tokens, output: 1 }
      upstream.answer(answering ?? double(() => ({ counts })))
    }

    it(`of ${model} for both APIs, free of charge`, async () => {
      const before = (await vendors.gateway.usage()).length
      for (const count of [countMessage, countResponse]) {
        answer(undefined)
        const { data, response } = await count(model)
        expect(data.input_tokens).to.equal(tokens)
        expect(response.headers.get('x-gateway-provider')).to.equal(vendor)
        const { requests } = vendors.upstreams[vendor]
        expect(requests.map((one) => one.path)).to.deep.equal([path])
        expect(JSON.stringify(requests[0]!.body)).to.include(text).and.include('look')
      }
      expect(await vendors.gateway.usage()).to.have.length(before)
    })

    it(`of ${model} is estimated if the vendor does not count`, async () => {
      const failures: ScriptedAnswer[] = [
        { status: 404, body: { error: { message: 'no such path' } } },
        { status: 500, body: {} },
        { status: 429, body: { error: { message: 'slow down' } } },
        { status: 200, body: { input_tokens: 'many', totalTokens: -1 } },
        { status: 200, body: 'not JSON' },
      ]
      for (const failure of failures) {
        for (const count of [countMessage, countResponse]) {
          answer(failure)
          const { data, response } = await count(model)
          expect(data.input_tokens).to.be.within(20, 100)
          expect(response.headers.has('x-gateway-provider')).to.equal(false)
        }
      }
    })
  }
})
