import { NotFoundError } from '@anthropic-ai/sdk'
import { expect } from 'chai'
import { anthropicClient } from '../support/anthropic-client.ts'
import { chatVendors, startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { orderComplaints, readMessageEvents } from '../support/message-events.ts'
import type { Spoken } from '../support/spoken.ts'

type Body = Record<string, unknown>
type Answer = { content: Body[]; warnings?: { param: string }[] }

const mark = { type: 'ephemeral' }
const user = {
  role: 'user',
  content: [
    { type: 'text', text: '<note>…</note>' },
    { type: 'text', text: 'say hello' },
  ],
}
const environment = { role: 'system', content: [{ type: 'text', text: '# Environment …' }] }
/** The first request of Claude Code, for any model name. */
const first = {
  max_tokens: 128_000,
  stream: true,
  thinking: { type: 'adaptive', display: 'omitted' },
  output_config: { effort: 'medium' },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  metadata: { user_id: '{"device_id":"d","session_id":"s"}' },
  system: [
    { type: 'text', text: 'x-anthropic-billing-header: v=1;' },
    { type: 'text', text: 'You are a helper.', cache_control: mark },
    { type: 'text', text: 'More.', cache_control: mark },
  ],
  tools: [
    { name: 'Look', description: '…', input_schema: { type: 'object', properties: {} } },
    {
      name: 'Later',
      description: '…',
      input_schema: { type: 'object', properties: {} },
      defer_loading: true,
    },
  ],
  messages: [user, environment],
}
const result = {
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'hi', is_error: false }],
}
const tokensLeft = {
  role: 'system',
  content: [{ type: 'text', text: '… tokens left …', cache_control: mark }],
}
const looks: Spoken = {
  reasoning: ['hm'],
  calls: [{ id: 'toolu_1', name: 'Look', args: {} }],
  end: 'tool_calls',
}
const headers = {
  'anthropic-version': '2023-06-01',
  'anthropic-beta': [
    'claude-code-20250219',
    'interleaved-thinking-2025-05-14',
    'context-management-2025-06-27',
    'mid-conversation-tool-changes-2026-07-01',
    'advanced-tool-use-2025-11-20',
    'context-1m-2025-08-07',
  ].join(','),
  'x-app': 'cli',
}
const budget = { thinking: { type: 'enabled', budget_tokens: 31_999 }, output_config: {} }

describe('Claude Code', () => {
  let house: VendorGateway
  before(async () => {
    house = await startVendorGateway({
      aliases: { 'claude-house': 'gpt-4.1', 'claude-elsewhere': 'zai/glm-5' },
    })
  })
  after(() => house.stop())

  const post = (body: object, path = '/v1/messages?beta=true') => {
    const { liveKey } = house.gateway
    return house.gateway.post(path, body, {
      key: null,
      headers: { ...headers, 'x-api-key': liveKey },
    })
  }
  const streamed = async (body: object) => {
    const response = await post(body)
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    const events = readMessageEvents(text)
    expect(orderComplaints(events)).to.deep.equal([])
    return events
  }
  const says = (id: keyof VendorGateway['upstreams'], spoken: Spoken) => {
    const { double } = chatVendors.find((vendor) => vendor.id === id)!
    house.upstreams[id].answer(double(() => spoken))
  }
  const sent = (id: keyof VendorGateway['upstreams']) =>
    house.upstreams[id].requests.at(-1)!.body as Body

  const more = [
    { ...chatVendors[0]!, model: 'gpt-5-mini' },
    { ...chatVendors[0]!, model: 'gpt-6.2-sol' },
    { ...chatVendors[1]!, model: 'claude-opus-5-5' },
    { ...chatVendors[1]!, model: 'claude-haiku-4-5' },
  ]
  for (const { id, model } of [...chatVendors, ...more]) {
    it(`works with ${model} over a tool`, async () => {
      for (const thinking of [{}, budget]) {
        says(id, looks)
        const events = await streamed({ ...first, ...thinking, model })
        if (id !== 'anthropic') expect(JSON.stringify(sent(id))).not.to.contain('billing')
        const blocks = events.flatMap((event) =>
          event.type === 'content_block_start' ? [event.content_block] : [],
        )
        expect(blocks.at(-1)).to.deep.include({ type: 'tool_use', name: 'Look' })
        const whole = (await (
          await post({ ...first, ...thinking, model, stream: false })
        ).json()) as Answer
        says(id, { text: ['Hello.'] })
        const messages = [
          ...first.messages,
          { role: 'assistant', content: whole.content },
          {
            role: 'user',
            content: [{ ...result.content[0], tool_use_id: whole.content.at(-1)!['id'] }],
          },
          tokensLeft,
        ]
        const second = await streamed({ ...first, ...thinking, model, messages })
        const text = second.flatMap((event) =>
          event.type === 'content_block_delta' && event.delta.type === 'text_delta'
            ? [event.delta.text]
            : [],
        )
        expect(text.join('')).to.equal('Hello.')
      }
    })

    it(`sends thinking of another gateway to no ${model}`, async () => {
      says(id, { text: ['Hello.'] })
      const content = [
        { type: 'thinking', thinking: 'hm', signature: 'EqQBCgIYAhIM' },
        { type: 'tool_use', id: 'toolu_1', name: 'Look', input: {} },
      ]
      const messages = [...first.messages, { role: 'assistant', content }, result, tokensLeft]
      await streamed({ ...first, model, messages })
      expect(JSON.stringify(sent(id))).not.to.contain('EqQB')
    })
  }

  it('sends a Claude model what it sent, so that the vendor’s cache has it', async () => {
    const betas = headers['anthropic-beta'].replace(',context-1m-2025-08-07', '')
    for (const model of ['claude-opus-5-5', 'claude-haiku-4-5']) {
      says('anthropic', looks)
      const asked = { ...first, model, max_tokens: 64_000 }
      if (model === 'claude-haiku-4-5') Object.assign(asked, budget)
      await streamed(asked)
      expect(sent('anthropic')).to.deep.equal(asked)
      expect(house.upstreams.anthropic.requests.at(-1)!.headers['anthropic-beta']).to.equal(betas)
      const { content } = (await (await post({ ...asked, stream: false })).json()) as Answer
      says('anthropic', { text: ['Hello.'] })
      const messages = [...first.messages, { role: 'assistant', content }, result, tokensLeft]
      await streamed({ ...asked, messages })
      const [thought, ...rest] = content
      expect(thought!['signature']).to.match(/^gw1\./)
      const own = { role: 'assistant', content: [{ ...thought, signature: 'EqQB' }, ...rest] }
      const whole = [...first.messages, own, result, tokensLeft]
      expect(JSON.stringify(sent('anthropic'))).to.equal(
        JSON.stringify({ ...asked, messages: whole }),
      )
    }
  })

  it('translates the effort, the choice of a tool and the marks for Anthropic', async () => {
    says('anthropic', { text: ['Hello.'] })
    await post({
      ...first,
      model: 'claude-sonnet-4-6',
      stream: false,
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      stop_sequences: ['END'],
      cache_control: { ...mark, ttl: '1h' },
    })
    expect(sent('anthropic')).to.deep.include({
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: 'medium' },
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      stop_sequences: ['END'],
      cache_control: mark,
    })
  })

  it('sends an identifier of the user that every vendor takes', async () => {
    const usersOf = async (id: string) => {
      says('openai', { text: ['Hello.'] })
      await post({ ...first, model: 'gpt-4.1', stream: false, metadata: { user_id: id } })
      return sent('openai')['user']
    }
    expect(await usersOf('user-4711_a')).to.equal('user-4711_a')
    const long = await usersOf(first.metadata.user_id)
    expect(long).to.match(/^[\w-]{43}$/)
    expect(await usersOf(first.metadata.user_id)).to.equal(long)
    expect(await usersOf('{"device_id":"e"}')).not.to.equal(long)
  })

  it('says in warnings what was left out', async () => {
    says('openai', { text: ['Hello.'] })
    const body = { ...first, model: 'claude-house', stream: false, new_field: { a: 1 } }
    const { warnings = [] } = (await (await post(body)).json()) as Answer
    const params = warnings.map(({ param }) => param)
    expect(params).to.include.members(['max_tokens', 'context_management', 'new_field'])
    expect(sent('openai')).to.include({ max_tokens: 32_768 })
  })

  it('counts the tokens of its request by the vendor of each model', async () => {
    const before = (await house.gateway.usage()).length
    const { max_tokens: _most, stream: _stream, ...rest } = first
    const count = async (model: string) => {
      const response = await post({ ...rest, model }, '/v1/messages/count_tokens?beta=true')
      expect(response.status, model).to.equal(200)
      return response.json()
    }
    for (const { id, model } of [...chatVendors, ...more]) {
      says(id, { counts: { input: 4711, output: 1 } })
      expect(await count(model), model).to.deep.equal({ input_tokens: 4711 })
    }
    says('openai', { counts: { input: 815, output: 1 } })
    expect(await count('claude-house')).to.deep.equal({ input_tokens: 815 })
    const unknown = await post({ ...rest, model: 'no-such-model' }, '/v1/messages/count_tokens')
    expect(unknown.status).to.equal(404)
    expect(await house.gateway.usage()).to.have.length(before)
  })

  it('lists the models in pages', async () => {
    const client = anthropicClient(house.gateway)
    const ids: string[] = []
    for await (const model of client.models.list({ limit: 7 })) {
      expect(model).to.include({ type: 'model' })
      expect(model.created_at).to.match(/^\d{4}-\d\d-\d\dT00:00:00Z$/)
      ids.push(model.id)
    }
    const { data } = (await (
      await house.gateway.fetch('/v1/models', { key: house.gateway.liveKey })
    ).json()) as { data: { id: string }[] }
    // An alias of a model without a provider is not listed.
    expect(ids).to.deep.equal(data.map(({ id }) => id))
    expect(ids.at(-1)).to.equal('claude-house')
    const page = await client.models.list({ limit: 2, before_id: ids[5]! })
    expect(page.data.map(({ id }) => id)).to.deep.equal(ids.slice(3, 5))
    expect(page).to.include({ has_more: true, first_id: ids[3]!, last_id: ids[4]! })
  })

  it('retrieves a model by its name or alias, and gets errors in its own form', async () => {
    const client = anthropicClient(house.gateway)
    const [{ data }, model] = await Promise.all([
      client.models.list({ limit: 1 }),
      client.models.retrieve('gpt-4.1'),
    ])
    expect(model).to.include({ type: 'model', id: 'gpt-4.1', display_name: 'GPT-4.1' })
    expect(Object.keys(model)).to.deep.equal(Object.keys(data[0]!))
    expect(await client.models.retrieve('claude-house')).to.include({ id: 'claude-house' })
    const unknown: unknown = await client.models
      .retrieve('no-such')
      .catch((error: unknown) => error)
    expect(unknown).to.be.instanceOf(NotFoundError)
    expect((unknown as NotFoundError).error).to.have.nested.property(
      'error.type',
      'not_found_error',
    )
  })

  it('offers a model under its alias, if the key may call it', async () => {
    const named = async (key: string) => {
      const { data } = await anthropicClient(house.gateway, key).models.list({ limit: 1000 })
      return data.filter(({ id }) => id.includes('claude-house'))
    }
    const [offered, ...others] = await named(house.gateway.liveKey)
    expect(others).to.deep.equal([])
    expect(offered).to.include({ type: 'model', id: 'claude-house', display_name: 'GPT-4.1' })
    says('openai', { text: ['Hello.'] })
    const said = await post({ ...first, model: offered!.id, stream: false })
    expect(said.status).to.equal(200)
    const able = await house.gateway.createKey('live', { models: ['gpt-4.1'] })
    expect(await named(able)).to.have.length(1)
    const narrow = await house.gateway.createKey('live', { models: ['claude-sonnet-4-6'] })
    expect(await named(narrow)).to.deep.equal([])
    const client = anthropicClient(house.gateway)
    const page = await client.models.list({ after_id: 'claude-house' })
    expect(page.data).to.deep.equal([])
  })
})
