import { expect } from 'chai'
import {
  askers,
  messageTool,
  paramsOf,
  searched,
  startSearchHouse,
  tool,
  weather,
  type SearchHouse,
} from '../support/web-search.ts'

const claude = 'claude-sonnet-4-6'
const gpt = 'gpt-6.1-sol'
const gemini = 'gemini-3-flash-preview'

describe('requests for a search of the web', () => {
  let house: SearchHouse
  before(async () => {
    house = await startSearchHouse()
  })
  after(() => house.stop())

  const { post, respond, send, chat } = askers(() => house)

  it('name the tool when the model cannot search as requested', async () => {
    const sent = house.says(searched)
    const filters = { allowed_domains: ['a.example'] }
    const blocked = { blocked_domains: ['a.example'] }
    for (const [asked, param, words] of [
      [() => respond('gpt-4.1-mini'), 'tools[0].type', /does not search the web/],
      [() => send('gpt-4.1-mini'), 'tools[0].type', /does not search the web/],
      [() => chat('gpt-4.1-mini', { max_searches: 1 }), 'web_search_options', /has the price/],
      [() => respond(gemini, { tools: [weather, tool] }), 'tools[1].type', /one request/],
      [
        () => respond(gemini, { tools: [tool, { type: 'image_generation' }] }),
        'tools[0].type',
        /one request/,
      ],
      [
        () => respond(gemini, { tools: [{ ...tool, filters }] }),
        'tools[0].filters.allowed_domains',
        /cannot limit/,
      ],
      [
        () => send(gpt, { tools: [{ ...messageTool, ...blocked }] }),
        'tools[0].blocked_domains',
        /not those to leave out/,
      ],
      [
        () => send(claude, { tools: [{ ...messageTool, ...filters, ...blocked }] }),
        'tools[0].blocked_domains',
        /not both/,
      ],
      [() => send(claude, { tools: [messageTool, messageTool] }), 'tools[1].type', /one search/],
      [() => respond(gpt, { tools: [tool, tool] }), 'tools[1]', /one tool `web_search`/],
      [() => send(claude, { tools: [{ ...messageTool, name: 'find' }] }), 'tools[0].name', /name/],
      [
        () => respond(gpt, { tools: [], tool_choice: tool }),
        'tool_choice',
        /'web_search' is not in `tools`/,
      ],
    ] as [() => ReturnType<typeof post>, string, RegExp][]) {
      const { status, body } = await asked()
      const { error } = body as {
        error: { param?: string; message: string; details?: { param: string } }
      }
      expect([status, error.details?.param ?? error.param], error.message).to.deep.equal([
        400,
        param,
      ])
      expect(error.message).to.match(words)
    }
    expect(sent).to.deep.equal([])
  })

  it('are none for a vendor without the price, which gets the options or a warning', async () => {
    const sent = house.says({ text: ['Two.'] })
    const { status } = await chat('gpt-4.1-mini', { search_context_size: 'low' })
    expect(status).to.equal(200)
    expect(sent.at(-1)).to.have.nested.property('web_search_options.search_context_size', 'low')
  })

  it('tell the vendor where the user is, in its form', async () => {
    const sent = house.says(searched)
    const place = { city: 'Kiel', region: null, country: 'DE', timezone: 'Europe/Berlin' }
    const { region: _region, ...told } = place
    const located = { type: 'approximate', ...told }
    const tools = [{ ...tool, user_location: { type: 'approximate', ...place } }]
    await respond(claude, { tools })
    expect(sent.at(-1)).to.have.deep.nested.property('tools[0].user_location', located)
    await respond('gpt-4.1', { tools })
    expect(sent.at(-1)).to.have.deep.nested.property('tools[0].user_location', located)
    await send(gpt, { tools: [{ ...messageTool, user_location: located }] })
    expect(sent.at(-1)).to.have.deep.nested.property('tools[0].user_location', located)
    const flat = await chat(claude, { user_location: located })
    expect(paramsOf(flat.body)).to.deep.equal(['web_search_options.user_location'])
    const google = await respond(gemini, { tools })
    expect(paramsOf(google.body)).to.deep.equal(['tools[0].user_location'])
  })

  it('let Codex ask for a search of what OpenAI has stored, as it does by default', async () => {
    const sent = house.says(searched)
    const stored = { ...tool, external_web_access: false }
    const own = await respond(gpt, { tools: [stored] })
    expect(own.body['warnings']).to.equal(undefined)
    expect(sent.at(-1)).to.deep.include({ tools: [stored] })
    await respond('gpt-4.1', { tools: [stored] })
    expect(sent.at(-1)).to.deep.include({ tools: [stored] })
    for (const model of [claude, gemini, 'gpt-4.1-mini']) {
      house.says({ text: ['Two.'] })
      const { status, body } = await respond(model, { tools: [weather, stored] })
      expect([status, paramsOf(body)]).to.deep.equal([200, ['tools[1]']])
    }
  })

  it('are none in the sandbox, which says that it does not search', async () => {
    for (const model of [gpt, claude, gemini]) {
      const { status, body } = await respond(model, {}, house.gateway.testKey)
      expect([status, paramsOf(body)]).to.deep.equal([200, ['tools[0].type']])
      expect(body['tool_usage']).to.equal(undefined)
    }
  })
})
