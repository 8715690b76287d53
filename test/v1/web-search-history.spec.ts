import { expect } from 'chai'
import { anthropicEvents, foundContent, foundIndex } from '../support/anthropic-answers.ts'
import { readMessageEvents } from '../support/message-events.ts'
import { responseEvents } from '../support/responses-upstream.ts'
import {
  pages,
  searched,
  searchVendors,
  startSearchHouse,
  text,
  type SearchHouse,
} from '../support/web-search.ts'

type Body = Record<string, unknown>
type Answer = { content: Body[]; output: Body[]; warnings?: { param: string }[] }

const claude = 'claude-sonnet-4-6'
const gpt = 'gpt-6.1-sol'
const tools = [{ type: 'web_search_20250305', name: 'web_search' }]
const question = { role: 'user', content: 'How many boats are there?' }
const next = { role: 'user', content: 'And tomorrow?' }
const found = [
  'server_tool_use',
  'web_search_tool_result',
  'server_tool_use',
  'web_search_tool_result',
]

describe('an earlier search of the web', () => {
  let house: SearchHouse
  before(async () => {
    house = await startSearchHouse()
  })
  after(() => house.stop())

  const post = async (path: string, body: object, key = house.gateway.liveKey) => {
    const response = await house.gateway.post(path, body, { key })
    const answer = await response.text()
    expect(response.status, answer).to.equal(200)
    return JSON.parse(answer) as Answer
  }
  const send = (model: string, messages: object[], key?: string) =>
    post('/v1/messages', { model, max_tokens: 1000, messages, tools }, key)
  const contentOf = (sent: Body[]) => {
    const { messages } = sent.at(-1) as { messages: { role: string; content: Body[] }[] }
    return messages[1]!.content
  }
  const typesOf = (blocks: readonly Body[]) => blocks.map(({ type }) => type)

  it('goes back to Anthropic with the data that Anthropic wrote', async () => {
    const sent = house.says(searched)
    const { content } = await send(claude, [question])
    expect(typesOf(content).slice(0, 4)).to.deep.equal(found)
    expect(JSON.stringify(content)).to.match(/"encrypted_content":"gw1\./)
    expect(JSON.stringify(content)).to.match(/"encrypted_index":"gw1\./)
    const { warnings } = await send(claude, [question, { role: 'assistant', content }, next])
    expect(warnings).to.equal(undefined)
    expect(sent).to.have.length(2)
    const back = JSON.stringify(contentOf(sent))
    expect(back).to.contain(foundContent(pages.harbour.url))
    expect(back).to.contain(foundIndex(pages.tides.url))
    expect(back).not.to.contain('gw1.')
    expect(typesOf(contentOf(sent))).to.deep.equal(typesOf(content))
  })

  it('goes back to Anthropic from a stream, too', async () => {
    const sent = house.says(searched)
    const response = await house.gateway.post(
      '/v1/messages',
      { model: claude, max_tokens: 1000, messages: [question], tools, stream: true },
      { key: house.gateway.liveKey },
    )
    const streamed = await response.text()
    for (const event of anthropicEvents(searched, claude)) {
      if (/content_block/.test(event) && !/EqgfCioI|Eo8BCioI/.test(event)) {
        expect(streamed).to.contain(event)
      }
    }
    expect(streamed).not.to.match(/EqgfCioI|Eo8BCioI/)
    const content: Body[] = []
    for (const event of readMessageEvents(streamed)) {
      if (event.type === 'content_block_start') content.push({ ...event.content_block })
      if (event.type !== 'content_block_delta') continue
      const block = content.at(-1)!
      const { delta } = event
      if (delta.type === 'text_delta') block['text'] = String(block['text']) + delta.text
      if (delta.type === 'citations_delta') (block['citations'] as unknown[]).push(delta.citation)
      if (delta.type === 'input_json_delta' && delta.partial_json.endsWith('}')) block['input'] = {}
    }
    await send(claude, [question, { role: 'assistant', content }, next])
    expect(sent).to.have.length(2)
    expect(JSON.stringify(contentOf(sent))).to.contain(foundIndex(pages.harbour.url))
  })

  it('of another account, another gateway or another vendor is left out with its citations', async () => {
    const sent = house.says(searched)
    const { content } = await send(claude, [question])
    const own = contentOfVendor()
    const stranger = await house.gateway.createKey('live', {
      accountId: await house.gateway.createAccount(),
    })
    const { content: translated } = await send('gemini-3-flash-preview', [question])
    expect(typesOf(translated)).to.include('web_search_tool_result')
    for (const [blocks, key] of [
      [content, stranger],
      [own, house.gateway.liveKey],
      [translated, house.gateway.liveKey],
    ] as const) {
      await send(claude, [question, { role: 'assistant', content: blocks }, next], key)
      const left = contentOf(sent)
      expect([...new Set(typesOf(left))]).to.deep.equal(['text'])
      expect(left.map((block) => block['text']).join('')).to.equal(text)
      expect(JSON.stringify(left)).not.to.contain('citations')
    }
  })

  it('is left out with a warning for a model of another vendor', async () => {
    house.says(searched)
    const { content } = await send(claude, [question])
    for (const model of [gpt, 'gpt-4.1', 'gemini-3-flash-preview']) {
      const sent = house.says({ text: ['Three.'] })
      const { warnings } = await send(model, [question, { role: 'assistant', content }, next])
      const params = warnings!.map(({ param }) => param)
      expect(params).to.deep.equal(['messages[1].content[0]', 'messages[1].content[2]'])
      expect(JSON.stringify(sent))
        .to.contain('Two boats')
        .and.not.to.match(/gw1\.|srvtoolu/)
    }
  })

  it('is an item that every model takes back, and that OpenAI reads', async () => {
    for (const { model } of searchVendors) {
      house.says(searched)
      const asked = { model, input: [question], tools: [{ type: 'web_search' }] }
      const { output } = await post('/v1/responses', asked)
      expect(typesOf(output)).to.include('web_search_call')
      for (const { id, model: other } of searchVendors) {
        const sent = house.says({ text: ['Three.'] })
        const input = [question, ...output, next]
        const { warnings } = await post('/v1/responses', { model: other, input })
        expect(warnings).to.equal(undefined)
        if (id !== 'openai') continue
        expect(sent.at(-1)!['input']).to.deep.equal(input)
      }
    }
  })

  it('is stored with its response', async () => {
    house.says(searched)
    const asked = { model: claude, input: 'Boats?', tools: [{ type: 'web_search' }] }
    const { id } = (await post('/v1/responses', asked)) as Answer & { id: string }
    const sent = house.says({ text: ['Three.'] })
    await post('/v1/responses', { model: claude, input: 'Tomorrow?', previous_response_id: id })
    expect(JSON.stringify(sent)).to.contain('Two boats')
    const { data } = (await (
      await house.gateway.fetch(`/v1/responses/${id}`, { key: house.gateway.liveKey })
    ).json()) as { data?: unknown; output?: Body[] }
    expect(data).to.equal(undefined)
  })

  it('has the events of OpenAI verbatim, with the numbers of the gateway', async () => {
    house.says(searched)
    const asked = { model: gpt, input: 'Boats?', tools: [{ type: 'web_search' }], stream: true }
    const response = await house.gateway.post('/v1/responses', asked, {
      key: house.gateway.liveKey,
    })
    const streamed = await response.text()
    const sent = { model: gpt, input: [{ role: 'user', content: asked.input }] }
    const events = responseEvents(searched, sent)
    for (const event of events.filter((one) => /web_search_call|annotation\.added/.test(one))) {
      if (!event.includes('"response":')) expect(streamed).to.contain(event)
    }
  })
})

/** An answer that Anthropic itself gave. */
function contentOfVendor(): Body[] {
  const { url, title } = pages.harbour
  return [
    { type: 'server_tool_use', id: 'srvtoolu_9', name: 'web_search', input: { query: 'boats' } },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_9',
      content: [{ type: 'web_search_result', url, title, encrypted_content: foundContent(url) }],
    },
    {
      type: 'text',
      text,
      citations: [
        { type: 'web_search_result_location', url, title, encrypted_index: foundIndex(url) },
      ],
    },
  ]
}
