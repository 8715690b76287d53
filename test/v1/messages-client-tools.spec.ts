import { expect } from 'chai'
import { chatVendors, startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import type { Spoken } from '../support/spoken.ts'

type Body = Record<string, unknown>
type Block = Body & { type: string }
type Message = {
  content: Block[]
  warnings?: { param: string }[]
  error?: { type: string; message: string; param?: string }
}

const claude = 'claude-sonnet-4-6'
const question = { role: 'user', content: 'Count the boats.' }
const size = { display_width_px: 1024, display_height_px: 768 }
/** A tool, the input of a call, and a part of what models of other vendors get. */
const rows = [
  [{ type: 'bash_20250124', name: 'bash' }, { command: 'ls' }, 'restart'],
  [
    { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 9000 },
    { command: 'view', path: '/boats' },
    'old_str',
  ],
  [
    { type: 'memory_20250818', name: 'memory' },
    { command: 'rename', old_path: '/memories/a', new_path: '/memories/b' },
    'new_path',
  ],
] as const
const computer = { type: 'computer_20251124', name: 'computer', ...size }

describe('tools of the Messages API that the client runs', () => {
  let house: VendorGateway
  before(async () => {
    house = await startVendorGateway()
  })
  after(() => house.stop())

  const answers = (spoken: Spoken) => {
    for (const { id, double } of chatVendors) house.upstreams[id].answer(double(() => spoken))
  }
  const post = async (body: Body, headers: Record<string, string> = {}) => {
    const init = { key: house.gateway.liveKey, headers }
    const response = await house.gateway.post('/v1/messages', { max_tokens: 999, ...body }, init)
    return { status: response.status, message: (await response.json()) as Message }
  }
  const sent = (id: keyof VendorGateway['upstreams']) => house.upstreams[id].requests
  const lastSent = (id: keyof VendorGateway['upstreams']) => sent(id).at(-1)!.body as Body

  for (const [tool, input, part] of rows) {
    for (const { id, model } of chatVendors) {
      it(`are what ${model} can take: ${tool.type}`, async () => {
        const call = { id: 'toolu_1', name: tool.name, args: input }
        answers({ calls: [call], end: 'tool_calls' })
        const asked = { model, tools: [tool] }
        const first = await post({ ...asked, messages: [question] })
        expect(first.status, JSON.stringify(first.message)).to.equal(200)
        expect(first.message).not.to.have.property('warnings')
        if (id === 'anthropic') expect(lastSent(id)['tools']).to.deep.equal([tool])
        else
          expect(JSON.stringify(lastSent(id)))
            .to.contain(part)
            .and.contain(tool.name)
        const use = first.message.content.find(({ type }) => type === 'tool_use')!
        expect(use).to.deep.include({ name: tool.name, input })
        answers({ text: ['Two.'] })
        const result = { type: 'tool_result', tool_use_id: use['id'], content: 'Ann, Bea' }
        const second = await post({
          ...asked,
          messages: [
            question,
            { role: 'assistant', content: first.message.content },
            { role: 'user', content: [result] },
          ],
        })
        expect(second.status, JSON.stringify(second.message)).to.equal(200)
        expect(JSON.stringify(lastSent(id))).to.contain('Ann, Bea')
      })
    }
  }

  it('let models of Anthropic alone use a computer, and name the remedy for others', async () => {
    answers({ text: ['Two.'] })
    const body = { messages: [question], tools: [computer] }
    const headers = { 'anthropic-beta': 'computer-use-2025-11-24' }
    const { status, message } = await post({ model: claude, ...body }, headers)
    expect(status, JSON.stringify(message)).to.equal(200)
    expect(lastSent('anthropic')['tools']).to.deep.equal([computer])
    expect(sent('anthropic').at(-1)!.headers).to.include(headers)
    for (const { id, model } of chatVendors) {
      if (id === 'anthropic') continue
      const before = sent(id).length
      const refused = await post({ model, ...body })
      expect(refused.status).to.equal(400)
      expect(refused.message.error!.message).to.match(
        /'tools\[0\]\.type': only models with native requests take 'computer_20251124'.*send a tool of your own/,
      )
      expect(sent(id)).to.have.length(before)
    }
  })

  it('of an unknown type are sent to Anthropic with a warning, which decides', async () => {
    const body = {
      model: claude,
      messages: [question],
      tools: [{ type: 'time_machine_20300101', year: 1900 }],
    }
    const error = { type: 'invalid_request_error', message: 'tools.0: unknown tag' }
    house.upstreams.anthropic.answer({ status: 400, body: { type: 'error', error } })
    const before = sent('anthropic').length
    const refused = await post(body)
    expect(refused.status).to.equal(400)
    expect(refused.message.error!.message).to.contain('unknown tag')
    expect(sent('anthropic')).to.have.length(before + 1)
    const content = [{ type: 'tool_use', id: 'toolu_1', name: 'travel', input: { to: 1900 } }]
    const usage = { input_tokens: 1, output_tokens: 1 }
    house.upstreams.anthropic.answer({ body: { content, usage, stop_reason: 'tool_use' } })
    const { message } = await post(body)
    expect(message.content).to.deep.equal(content)
    expect(message.warnings!.map(({ param }) => param)).to.deep.equal(['tools[0].type'])
    expect((await post(body, { 'x-gateway-strict': 'true' })).status).to.equal(400)
    expect((await post({ ...body, model: 'gpt-4.1' })).status).to.equal(400)
  })

  it('that Anthropic would run are refused with the remedy', async () => {
    for (const type of ['code_execution_20260120', 'web_fetch_20260318', 'web_search_20260318']) {
      for (const { model } of chatVendors) {
        const { status, message } = await post({
          model,
          messages: [question],
          tools: [{ type, name: 'x' }],
        })
        expect(status).to.equal(400)
        expect(message.error!.message).to.contain(type).and.contain('send a tool of your own')
      }
    }
  })
})
