import { expect } from 'chai'
import { chatVendors, startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { expectError } from '../support/expect-error.ts'
import { pixel } from '../support/pixel.ts'
import { checkResponseEvents } from '../support/response-events.ts'
import type { Spoken } from '../support/spoken.ts'

type Body = Record<string, unknown>
type Item = Body & { id: string; type: string }
type Response = Body & { output: Item[]; warnings?: { param: string; reason: string }[] }

const native = 'gpt-6.1-sol'
const question = { type: 'message', role: 'user', content: 'Count the boats.' }
const find = { type: 'function', name: 'boats', parameters: { type: 'object' }, strict: false }
const found = { type: 'function', name: 'wait', parameters: { type: 'object' }, strict: false }
const searchTool = {
  type: 'tool_search',
  execution: 'client',
  description: 'Finds a tool.',
  parameters: {
    type: 'object',
    properties: { query: { type: 'string' } },
    required: ['query'],
    additionalProperties: false,
  },
}

/** A tool that the client runs, a call of it, and its output. */
const rows = [
  {
    tool: searchTool,
    call: { execution: 'client', arguments: { query: 'boats' } },
    args: { query: 'boats' },
    output: { type: 'tool_search_output', execution: 'client', tools: [find, found] },
    text: 'Found tools: boats, wait',
  },
  {
    tool: { type: 'apply_patch' },
    call: { operation: { type: 'update_file', path: 'a.txt', diff: '@@\n-1\n+2\n' } },
    args: { type: 'update_file', path: 'a.txt', diff: '@@\n-1\n+2\n' },
    output: { type: 'apply_patch_call_output', status: 'failed', output: 'No such file.' },
    text: 'failed: No such file.',
  },
  {
    tool: { type: 'shell', environment: { type: 'local' } },
    call: {
      action: { timeout_ms: null, max_output_length: null, commands: ['ls', 'wc -l'] },
      environment: { type: 'local' },
    },
    args: { commands: ['ls', 'wc -l'] },
    output: {
      type: 'shell_call_output',
      output: [{ stdout: '2', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
    },
    text: '[{"stdout":"2","stderr":"","outcome":{"type":"exit","exit_code":0}}]',
  },
  {
    tool: { type: 'local_shell' },
    call: { action: { type: 'exec', env: {}, command: ['ls', '-l'] } },
    args: { command: ['ls', '-l'] },
    output: { type: 'local_shell_call_output', output: 'Ann, Bea' },
    text: 'Ann, Bea',
  },
] as const

describe('tools of the Responses API that the client runs', () => {
  let house: VendorGateway
  before(async () => {
    house = await startVendorGateway()
  })
  after(() => house.stop())

  const answers = (spoken: Spoken) => {
    for (const { id, double } of chatVendors) house.upstreams[id].answer(double(() => spoken))
  }
  const post = (body: object, headers: Record<string, string> = {}) =>
    house.gateway.post('/v1/responses', body, { key: house.gateway.liveKey, headers })
  const ask = async (body: Body): Promise<Response> => {
    const response = await post(body)
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    if (body['stream'] === true) return checkResponseEvents(text).response
    return JSON.parse(text) as Response
  }
  const lastSent = (id: keyof VendorGateway['upstreams']) =>
    house.upstreams[id].requests.at(-1)!.body as Body
  const calls = (name: string, args: object): Spoken => ({
    calls: [{ id: 'call_1', name, args }],
    end: 'tool_calls',
  })
  const says: Spoken = { text: ['Two.'] }

  for (const { tool, call, args, output, text } of rows) {
    const { type } = tool
    for (const stream of [false, true]) {
      it(`are sent to OpenAI unchanged, and so are their items: ${type}, stream ${stream}`, async () => {
        answers(calls(type, { ...args, ...(type === 'local_shell' && { type: 'exec' }) }))
        const asked = { model: native, tools: [tool], tool_choice: { type }, stream }
        const first = await ask({ ...asked, input: [question] })
        expect(lastSent('openai')).to.deep.include({ tools: [tool], tool_choice: { type } })
        expect(first).not.to.have.property('warnings')
        const [made] = first.output
        expect(made).to.include({ type: `${type}_call`, call_id: 'call_1', status: 'completed' })
        answers(says)
        const result = { ...output, call_id: 'call_1' }
        await ask({ ...asked, tool_choice: 'auto', input: [question, made, result] })
        expect(lastSent('openai')['input']).to.deep.equal([question, made, result])
        // The same from the store, by the previous response and by reference.
        const { id } = first
        await ask({ ...asked, tool_choice: 'auto', previous_response_id: id, input: [result] })
        const stored = lastSent('openai')['input'] as Item[]
        expect(stored.slice(1)).to.deep.equal([made, result])
        const reference = { type: 'item_reference', id: made!.id }
        await ask({ ...asked, tool_choice: 'auto', input: [question, reference, result] })
        expect(lastSent('openai')['input']).to.deep.equal([question, made, result])
      })
    }

    for (const { id: vendor, model } of chatVendors) {
      for (const stream of [false, true]) {
        it(`are functions for ${model}: ${type}, stream ${stream}`, async () => {
          answers(calls(type, args))
          const asked = { model, tools: [tool], stream }
          const first = await ask({ ...asked, input: [question] })
          expect(JSON.stringify(lastSent(vendor))).to.contain(`"name":"${type}"`)
          const [made] = first.output.filter((item) => item.type !== 'reasoning')
          expect(made).to.deep.include({ type: `${type}_call`, call_id: made!['call_id'], ...call })
          expect(made!['status']).to.equal('completed')
          answers(says)
          const result = { ...output, call_id: made!['call_id'] }
          const second = await ask({ ...asked, input: [question, ...first.output, result] })
          expect(second).not.to.have.property('warnings')
          const sent = JSON.stringify(lastSent(vendor))
          expect(sent).to.contain(JSON.stringify(text).slice(1, -1))
          if (type === 'tool_search') expect(sent.split('"name":"boats"')).to.have.length(2)
        })
      }
    }
  }

  it('call what a search has found, once, though it was found twice', async () => {
    for (const { id: vendor, model } of chatVendors) {
      const search = (call_id: string) => [
        { type: 'tool_search_call', call_id, execution: 'client', arguments: { query: 'a' } },
        { type: 'tool_search_output', call_id, execution: 'client', tools: [find] },
      ]
      answers(calls('boats', {}))
      const input = [question, ...search('call_a'), ...search('call_b')]
      const { output } = await ask({ model, tools: [searchTool], input })
      expect(output.at(-1)).to.include({ type: 'function_call', name: 'boats' })
      expect(JSON.stringify(lastSent(vendor)).split('"name":"boats"')).to.have.length(2)
    }
  })

  it('are called as functions if the arguments are not those of the tool', async () => {
    answers(calls('shell', { command: 'ls' }))
    const { output } = await ask({
      model: 'claude-sonnet-4-6',
      tools: [{ type: 'shell' }],
      input: [question],
    })
    expect(output).to.have.length(1)
    expect(output[0]).to.include({ type: 'function_call', name: 'shell' })
  })

  it('leave a search of the vendor out for other vendors, which get all tools', async () => {
    answers(says)
    const tools = [{ type: 'tool_search' }, { ...find, defer_loading: true }]
    await ask({ model: native, tools, input: [question] })
    expect(lastSent('openai')['tools']).to.deep.equal(tools)
    const { warnings } = await ask({ model: 'claude-sonnet-4-6', tools, input: [question] })
    expect(warnings).to.deep.equal([
      {
        param: 'tools[0]',
        requested: 'tool_search',
        applied: null,
        reason: 'The model gets all tools at once.',
      },
    ])
  })

  const seen = { type: 'computer_screenshot', image_url: pixel }
  const looks = [
    question,
    { type: 'computer_call', call_id: 'call_1', actions: [], status: 'completed' },
    { type: 'computer_call_output', call_id: 'call_1', output: seen },
  ]

  it('let OpenAI alone use a computer, and name the remedy for others', async () => {
    answers(says)
    const tools = [{ type: 'computer' }]
    const { output } = await ask({ model: native, tools, input: looks })
    expect(output).to.have.length(1)
    expect(lastSent('openai')).to.deep.include({ tools, input: looks })
    const before = house.upstreams.openai.requests.length
    for (const { model } of chatVendors) {
      for (const [body, param] of [
        [{ tools, input: [question] }, 'tools[0].type'],
        [{ input: looks }, 'input[1].type'],
      ] as const) {
        const refusal = { status: 400, code: 'model_capability_mismatch', param }
        const { message } = await expectError(await post({ model, ...body }), refusal)
        expect(message).to.contain('Choose such a model, or send a function of your own.')
      }
    }
    expect(house.upstreams.openai.requests).to.have.length(before)
  })

  it('of an unknown type are sent to OpenAI with a warning, which decides', async () => {
    const tools = [find, { type: 'time_machine', year: 1900 }]
    house.upstreams.openai.answer(() => ({
      status: 400,
      body: {
        error: {
          message: "Invalid value: 'time_machine'.",
          param: 'tools[1]',
          code: 'invalid_value',
        },
      },
    }))
    const before = house.upstreams.openai.requests.length
    const { message } = await expectError(await post({ model: native, tools, input: [question] }), {
      status: 400,
      code: 'invalid_value',
    })
    expect(message).to.contain('time_machine')
    // It cannot be translated, so it is not sent again.
    expect(house.upstreams.openai.requests).to.have.length(before + 1)
    const item = { type: 'time_jump', id: 'tj_1', to: 1900 }
    const output = [{ type: 'time_travel_call', id: `tt_${'0'.repeat(50)}`, year: 1900 }]
    const usage = { input_tokens: 1, output_tokens: 1 }
    house.upstreams.openai.answer(() => ({ body: { object: 'response', output, usage } }))
    const answer = await ask({ model: native, tools, input: [question, item] })
    expect(lastSent('openai')).to.deep.include({ tools, input: [question, item] })
    expect(answer.output).to.deep.equal(output)
    expect(answer.warnings!.map(({ param }) => param)).to.deep.equal([
      'tools[1].type',
      'input[1].type',
    ])
    await ask({ model: native, previous_response_id: answer['id'], input: [question] })
    expect((lastSent('openai')['input'] as Item[]).slice(1, 3)).to.deep.equal([item, ...output])
    const refusal = { status: 400, code: 'model_capability_mismatch', param: 'tools[1].type' }
    await expectError(await post({ model: 'claude-sonnet-4-6', tools, input: 'Hi.' }), refusal)
    const strict = await post(
      { model: native, tools, input: 'Hi.' },
      { 'x-gateway-strict': 'true' },
    )
    await expectError(strict, {
      status: 400,
      code: 'unsupported_parameter',
      param: 'tools[1].type',
    })
  })

  it('that OpenAI would run are refused with the remedy', async () => {
    for (const model of [native, 'claude-sonnet-4-6']) {
      for (const [tool, param] of [
        [{ type: 'file_search', vector_store_ids: ['vs_1'] }, 'tools[0].type'],
        [{ type: 'code_interpreter', container: { type: 'auto' } }, 'tools[0].type'],
        [{ type: 'mcp', server_label: 'a' }, 'tools[0].type'],
      ] as const) {
        const refused = await post({ model, tools: [tool], input: 'Hi.' })
        const refusal = { status: 400, code: 'unsupported_value', param }
        const { message } = await expectError(refused, refusal)
        expect(message).to.contain('Leave it out, or send a tool that you run yourself.')
      }
      const tools = [{ type: 'shell', environment: { type: 'container_auto' } }]
      const param = 'tools[0].environment.type'
      const refusal = { status: 400, code: 'invalid_value', param }
      await expectError(await post({ model, tools, input: 'Hi.' }), refusal)
    }
  })

  it('come with a list of models that Codex reads, which leaves it its own instructions', async () => {
    const init = { key: house.gateway.liveKey }
    const read = async (path: string) => (await house.gateway.fetch(path, init)).json()
    const usual = (await read('/v1/models')) as object
    expect(usual).not.to.have.property('models')
    const forCodex = await read('/v1/models?client_version=0.171.0')
    expect(forCodex).to.deep.equal({ ...usual, models: [] })
  })
})
