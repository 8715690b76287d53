import { expect } from 'chai'
import { anthropicEvents } from '../support/anthropic-answers.ts'
import { geminiEvents } from '../support/gemini-upstream.ts'
import { responseEvents } from '../support/responses-upstream.ts'
import {
  messages,
  messageTool,
  searched,
  startSearchHouse,
  tool,
  type SearchHouse,
} from '../support/web-search.ts'

type Body = Record<string, unknown>

const claude = 'claude-sonnet-4-6'
const gpt = 'gpt-6.1-sol'
const gemini = 'gemini-3-flash-preview'

describe('the searches of a stream that breaks off', () => {
  let house: SearchHouse
  before(async () => {
    house = await startSearchHouse()
  })
  after(() => house.stop())

  /** Streams the events of an answer up to one with this text; returns what its searches cost. */
  const brokenOff = async (
    vendor: keyof SearchHouse['upstreams'],
    events: string[],
    { until, path, body }: { until: string; path: string; body: object },
  ) => {
    const end = events.findIndex((event) => event.includes(until)) + 1
    house.upstreams[vendor].answer({ pieces: events.slice(0, end) })
    const asked = { stream: true, ...body }
    const response = await house.gateway.post(path, asked, { key: house.gateway.liveKey })
    expect(await response.text()).to.contain('error')
    const row = (await house.gateway.usage()).at(-1)!
    const { prices, webSearches = 0 } = JSON.parse(row.pricing!) as {
      prices: Body
      webSearches?: number
    }
    expect(row.cost_status).to.equal('estimated')
    expect(row.input_tokens).to.be.above(0)
    const nanoUsd = Math.round(webSearches * Number(prices['web_searches'] ?? 0) * 1e9)
    expect(Number(row.cost_nano_usd)).to.be.above(nanoUsd)
    return [webSearches, nanoUsd]
  }
  const inChat = (model: string, options: object = {}) => ({
    path: '/v1/chat/completions',
    body: { model, messages, web_search_options: options },
  })

  it('are counted and charged as the vendor has shown them', async () => {
    const until = 'text_delta'
    const claudes = anthropicEvents(searched, claude)
    const body = { model: claude, max_tokens: 1000, messages, tools: [messageTool] }
    for (const asked of [{ path: '/v1/messages', body }, inChat(claude)]) {
      const paid = await brokenOff('anthropic', claudes, { until, ...asked })
      expect(paid).to.deep.equal([2, 20_000_000])
    }
    const gpts = responseEvents(searched, { model: gpt })
    const input = 'How many boats are there?'
    const native = { path: '/v1/responses', body: { model: gpt, input, tools: [tool] } }
    for (const asked of [native, inChat(gpt)]) {
      const said = { until: 'output_text.delta', ...asked }
      expect(await brokenOff('openai', gpts, said)).to.deep.equal([2, 20_000_000])
      // The first search has ended, and the second has begun.
      const begun = { until: '"output_index":1', ...asked }
      expect(await brokenOff('openai', gpts, begun)).to.deep.equal([2, 20_000_000])
    }
    const failed = { ...searched, searches: [{ query: 'boats', pages: [], error: 'failed' }] }
    const without = { until: 'output_text.delta', ...native }
    const none = await brokenOff('openai', responseEvents(failed, { model: gpt }), without)
    expect(none).to.deep.equal([0, 0])
  })

  it('are taken to be one if Gemini has not listed them', async () => {
    const until = 'boats 🚤🚤 lie'
    for (const [model, each] of [
      [gemini, 14_000_000],
      ['gemini-2.5-flash', 35_000_000],
    ] as const) {
      const events = geminiEvents(searched, model)
      const paid = await brokenOff('google', events, { until, ...inChat(model) })
      expect(paid).to.deep.equal([1, each])
      const listed = events.map((event) => event.replace('"finishReason":"STOP",', ''))
      const all = { until: 'groundingMetadata', ...inChat(model) }
      const searches = model === gemini ? 2 : 1
      expect(await brokenOff('google', listed, all)).to.deep.equal([searches, searches * each])
      const uncounted = listed.map((event) => event.replace('"usageMetadata":', '"other":'))
      expect(await brokenOff('google', uncounted, all)).to.deep.equal([searches, searches * each])
      const stored = { until, ...inChat(model, { external_web_access: false }) }
      expect(await brokenOff('google', events, stored)).to.deep.equal([0, 0])
      const plain = { path: '/v1/chat/completions', body: { model, messages } }
      expect(await brokenOff('google', events, { until, ...plain })).to.deep.equal([0, 0])
    }
  })
})
