import { expect } from 'chai'
import { setBudgetOfKey } from '../support/budgets.ts'
import {
  askers,
  messageTool,
  paramsOf,
  searched,
  startSearchHouse,
  text,
  tool,
  weather,
  type SearchHouse,
} from '../support/web-search.ts'
import type { Spoken } from '../support/spoken.ts'

type Body = Record<string, unknown>

const claude = 'claude-sonnet-4-6'
const gpt = 'gpt-6.1-sol'
const gemini = 'gemini-3-flash-preview'

describe('the limits of a search of the web', () => {
  let house: SearchHouse
  before(async () => {
    house = await startSearchHouse({
      limits: { cache_ttl_seconds: 60, route_tries_max: 2 },
      providers: [
        {
          id: 'own',
          kind: 'openai-compatible',
          base_url: 'http://127.0.0.1:9/v1',
          api_key_env: 'OPENAI_API_KEY',
          models: '*',
        },
      ],
      routes: { 'claude-haiku-4-5': ['own/claude', 'anthropic/claude-haiku-4-5'] },
    })
  })
  after(() => house.stop())

  const { post, respond, send, chat } = askers(() => house)

  it('are sent to vendors that have a parameter, and lowered by the caller', async () => {
    const sent = house.says(searched)
    await respond(gpt)
    expect(sent.at(-1)).to.deep.include({ max_tool_calls: 10, tools: [tool] })
    await respond(gpt, { max_tool_calls: 3 })
    expect(sent.at(-1)).to.deep.include({ max_tool_calls: 3 })
    await respond(claude, { max_tool_calls: 3 })
    expect(sent.at(-1)).to.have.nested.property('tools[0].max_uses', 3)
    await send(claude)
    expect(sent.at(-1)).to.have.nested.property('tools[0].max_uses', 10)
    const look = { name: 'look', input_schema: { type: 'object' } }
    const { body } = await send(claude, { tools: [{ ...messageTool, max_uses: 50 }, look] })
    expect(sent.at(-1)).to.have.nested.property('tools[0].max_uses', 10)
    expect(paramsOf(body)).to.deep.equal(['tools[0].max_uses'])
    await send(gpt, { tools: [{ ...messageTool, max_uses: 2 }] })
    expect(sent.at(-1)).to.include({ max_tool_calls: 2 })
    await chat(claude, { max_searches: 4 })
    expect(sent.at(-1)).to.have.nested.property('tools[0].max_uses', 4)
  })

  it('are an error of the search, which costs nothing', async () => {
    const [first] = searched.searches!
    const over: Spoken = {
      text: ['I found one page.'],
      counts: { input: 100, output: 10 },
      searches: [first!, { query: 'more', pages: [], error: 'max_uses_exceeded' }],
    }
    house.says(over)
    const { body } = await respond(claude)
    const calls = (body['output'] as Body[]).filter(({ type }) => type === 'web_search_call')
    expect(calls.map(({ status }) => status)).to.deep.equal(['completed', 'failed'])
    expect(body).to.have.nested.property('tool_usage.web_search.num_requests', 1)
    const own = await send(claude)
    const failed = (own.body['content'] as Body[]).filter(
      ({ type }) => type === 'web_search_tool_result',
    )
    expect(failed[1]).to.have.nested.property('content.error_code', 'max_uses_exceeded')
    const translated = await chat(claude, {})
    const { choices } = translated.body as { choices: { message: { web_searches: Body[] } }[] }
    expect(choices[0]!.message.web_searches[1]).to.include({ error: 'max_uses_exceeded' })
    const [row, other, last] = (await house.gateway.usage()).slice(-3)
    const nanoUsd = 10_000_000 + 100 * 3000 + 10 * 15_000
    expect([row, other, last].map((one) => Number(one!.cost_nano_usd))).to.deep.equal([
      nanoUsd,
      nanoUsd,
      nanoUsd,
    ])
    house.says({ ...over, searches: [{ query: 'more', pages: [], error: 'failed' }] })
    const { body: none } = await respond(gpt)
    expect(none['tool_usage']).to.equal(undefined)
    expect(none).to.have.nested.property('output[0].status', 'failed')
  })

  it('leave an answer after an image only those that are left', async () => {
    const [first] = searched.searches!
    const asksForImage: Spoken = {
      calls: [{ id: 'call_1', name: 'image_generation', args: { prompt: 'A boat' } }],
      searches: [first!],
      end: 'tool_calls',
    }
    const sent = house.says(asksForImage, searched)
    const tools = [{ type: 'image_generation', model: 'gpt-image-2' }, tool]
    await respond(claude, { tools, max_tool_calls: 3 })
    const limits = sent.map((body) => (body['tools'] as Body[]).map(({ max_uses: most }) => most))
    expect(limits.flat().filter((most) => most !== undefined)).to.deep.equal([3, 2])
  })

  it('are reserved in the budget, at the price of each model', async () => {
    const key = await house.gateway.createKey('live')
    const quoteOf = async (operation: string, request: object) => {
      const { body } = await post('/v1/prices', { operation, request }, key)
      const { routes } = body as unknown as {
        routes: {
          amount: { nano_usd: number }
          lines: { what: string; units: number; amount: string }[]
        }[]
      }
      const line = routes[0]!.lines.find(({ what }) => what === 'web_searches')
      return { nanoUsd: routes[0]!.amount.nano_usd, line }
    }
    const input = { input: 'Boats?', tools: [tool], max_output_tokens: 100 }
    for (const [model, units, each] of [
      [gpt, 10, 0.01],
      [claude, 10, 0.01],
      [gemini, 10, 0.014],
      ['gemini-2.5-flash', 1, 0.035],
    ] as const) {
      const { line } = await quoteOf('createResponse', { model, ...input })
      expect(line).to.include({ units })
      expect(Number(line!.amount)).to.be.closeTo(units * each, 1e-12)
    }
    const few = { model: claude, ...input, max_tool_calls: 2 }
    const { nanoUsd, line } = await quoteOf('createResponse', few)
    expect(line).to.include({ units: 2 })
    const many = await quoteOf('createResponse', { model: claude, ...input })
    expect(many.nanoUsd).to.be.above(nanoUsd)
    house.says(searched)
    const keyWith = async (budgetNanoUsd: number) => {
      const limited = await house.gateway.createKey('live')
      const budget = { nanoUsd: budgetNanoUsd, period: 'total' as const }
      await setBudgetOfKey(house.gateway, limited, budget)
      return limited
    }
    const refused = await post('/v1/responses', few, await keyWith(nanoUsd - 1))
    expect(refused.body.error).to.include({ code: 'insufficient_quota' })
    const able = await keyWith(nanoUsd)
    expect((await post('/v1/responses', { model: claude, ...input }, able)).status).to.equal(402)
    expect((await post('/v1/responses', few, able)).status).to.equal(200)
  })

  it('lead past the routes that do not search', async () => {
    const sent = house.says(searched)
    const { status } = await respond('claude-haiku-4-5')
    expect([status, sent.length]).to.deep.equal([200, 1])
    const { attempts } = JSON.parse(JSON.stringify((await house.gateway.usage()).at(-1)!)) as {
      attempts: string
    }
    expect(attempts).not.to.contain('own')
  })

  it('are no reason to cache: each request searches again', async () => {
    const sent = house.says(searched)
    for (const ask of [() => respond(claude), () => send(claude), () => chat(gpt, {})]) {
      const before = sent.length
      await ask()
      await Promise.all([ask(), ask()])
      expect(sent.length - before).to.equal(3)
    }
  })

  it('stay when a request that came natively is translated', async () => {
    const sent = house.says(searched)
    const { body } = await respond(gpt, { reasoning: { effort: 'minimal' } })
    expect(paramsOf(body)).to.include('reasoning.effort')
    expect(sent).to.have.length(1)
    expect(sent[0]).to.deep.include({ tools: [{ type: 'web_search' }], max_tool_calls: 10 })
    expect(body).to.have.nested.property('tool_usage.web_search.num_requests', 2)
  })

  it('are for each function beside the search, and for images', async () => {
    const sent = house.says(searched)
    for (const model of [gpt, claude, 'gpt-4.1']) {
      const { status, body } = await respond(model, { tools: [weather, tool] })
      expect([status, paramsOf(body)]).to.deep.equal([200, []])
      expect(sent.at(-1)!['tools']).to.have.length(2)
      const image = await respond(model, { tools: [{ type: 'image_generation' }, tool] })
      expect(image.status, JSON.stringify(image.body)).to.equal(200)
      expect(image.body).to.have.nested.property('tool_usage.web_search.num_requests', 2)
    }
    const forced = { tool_choice: tool }
    await respond(claude, forced)
    expect(sent.at(-1)).to.deep.include({ tool_choice: { type: 'any' } })
    const both = await respond(claude, { tools: [weather, tool], ...forced })
    expect(paramsOf(both.body)).to.deep.equal(['tool_choice'])
    const google = await respond(gemini, forced)
    expect(paramsOf(google.body)).to.deep.equal(['tool_choice'])
    const named = { tool_choice: { type: 'tool', name: 'web_search' } }
    await send(claude, {
      ...named,
      tools: [messageTool, { name: 'weather', input_schema: { type: 'object' } }],
    })
    expect(sent.at(-1)).to.deep.include(named)
  })

  it('are those of addresses, too: only pages of the web are passed on', async () => {
    const bad = [
      { url: 'javascript:alert(1)', title: 'x' },
      { url: 'data:text/html,x', title: 'x' },
      { url: `https://a.example/${'x'.repeat(3000)}`, title: 'x' },
      { url: 'https://', title: 'x' },
      { url: 'https://a.example/ok', title: 'y'.repeat(1000) },
    ]
    house.says({
      ...searched,
      searches: [{ query: 'q'.repeat(5000), pages: bad }],
      citations: bad.map((page, at) => ({ from: 2 * at, to: 2 * at + 1, ...page })),
    })
    for (const model of ['gpt-4.1', claude, gemini]) {
      const { body } = await chat(model, {})
      const { message } = (body as { choices: { message: Body }[] }).choices[0]!
      expect(message['content']).to.equal(text)
      const cited = (message['annotations'] as { url_citation: Body }[]).map(
        (one) => one.url_citation,
      )
      expect(cited.map(({ url }) => url)).to.deep.equal(['https://a.example/ok'])
      expect(cited[0]!['title']).to.have.length(300)
      const [search] = message['web_searches'] as { query: string; sources: Body[] }[]
      expect(search!.query).to.have.length(1000)
      expect(search!.sources).to.have.length(1)
    }
  })
})
