import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'

const messages = [{ role: 'user', content: 'Hello' }]
const clock = { type: 'function', function: { name: 'clock' } }
const choice = (name: string) => ({ type: 'function', function: { name } })
const value = 'invalid_value'
const mismatch = 'model_capability_mismatch'

const rows: { name: string; body: object; param: string; code: string }[] = [
  {
    name: 'a required tool without tools',
    body: { messages, tool_choice: 'required' },
    param: 'tool_choice',
    code: value,
  },
  {
    name: 'a named tool that is missing',
    body: { messages, tools: [clock], tool_choice: choice('wether') },
    param: 'tool_choice.function.name',
    code: value,
  },
  {
    name: 'a custom tool that is a function',
    body: {
      messages,
      tools: [clock],
      tool_choice: { type: 'custom', custom: { name: 'clock' } },
    },
    param: 'tool_choice.custom.name',
    code: value,
  },
  {
    name: 'an allowed tool that is missing',
    body: {
      messages,
      tools: [clock],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [choice('clock'), choice('wether')] },
      },
    },
    param: 'tool_choice.allowed_tools.tools[1].function.name',
    code: value,
  },
  {
    name: 'a named function that is missing',
    body: { messages, functions: [clock.function], function_call: { name: 'wether' } },
    param: 'function_call.name',
    code: value,
  },
  {
    name: 'a custom tool for a vendor without custom tools',
    body: {
      model: 'gemini-3.5-flash',
      messages,
      tools: [clock, { type: 'custom', custom: { name: 'shell' } }],
    },
    param: 'tools[1].type',
    code: mismatch,
  },
]

describe('a tool choice that cannot be met', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  for (const { name, body, param, code } of rows) {
    it(`is refused for ${name}, before any provider is called`, async () => {
      const response = await gateway.post('/v1/chat/completions', { model: 'gpt-4.1', ...body })
      await expectError(response, { status: 400, code, param })
      expect(await gateway.usage()).to.have.length(0)
    })
  }

  it('is refused with the names of the given tools', async () => {
    const body = { model: 'gpt-4.1', messages, tools: [clock], tool_choice: choice('wether') }
    const response = await gateway.post('/v1/chat/completions', body)
    const error = await expectError(response, { status: 400, code: value })
    expect(error.message).to.equal("'wether' is not in `tools`. The list has: clock.")
  })
})
