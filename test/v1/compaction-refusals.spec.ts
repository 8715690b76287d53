import { expect } from 'chai'
import {
  counts,
  list,
  says,
  startCompactions,
  summary,
  talk,
  trigger,
  user,
} from '../support/compaction.ts'
import { expectError } from '../support/expect-error.ts'
import { checkResponseEvents } from '../support/response-events.ts'
import type { Spoken } from '../support/spoken.ts'

const native = 'gpt-6.1-sol'
const other = 'claude-sonnet-4-6'

describe('a compaction', () => {
  let house: Awaited<ReturnType<typeof startCompactions>>
  before(async () => {
    house = await startCompactions()
  })
  after(() => house.stop())
  beforeEach(() => house.answers(says))

  it('of OpenAI is refused for models that cannot read it, before they are paid', async () => {
    const [item] = await house.compacted(native)
    const before = house.sentCount()
    for (const model of [other, 'gpt-4.1', 'gemini-3-flash-preview']) {
      const refused = await house.post({ model, input: [user('Hi.'), item, user('How many?')] })
      const expected = { status: 400, code: 'model_capability_mismatch', param: 'input[1]' }
      const { message } = await expectError(refused, expected)
      expect(message).to.contain("'openai'").and.to.contain('Continue with the model that made it')
    }
    expect(house.sentCount()).to.equal(before)
  })

  it('of OpenAI is sent to no other route when OpenAI refuses the request', async () => {
    const [item] = await house.compacted(native)
    house.upstreams.openai.answer({ status: 503, body: { error: { message: 'Busy.' } } })
    const before = house.upstreams.anthropic.requests.length
    const failed = await house.post({
      model: native,
      models: [other],
      input: [item, user('How many?')],
    })
    expect(failed.status).to.equal(502)
    expect(house.upstreams.anthropic.requests).to.have.length(before)
    house.answers(says)
    const effort = { reasoning: { effort: 'minimal' } }
    const refused = await house.post({ model: native, input: [item, user('How many?')], ...effort })
    expect(refused.status).to.equal(400)
    expect(house.lastSent('openai')['input']).to.have.nested.property('[0].type', 'compaction')
  })

  const spoilt: { name: string; spoken: Spoken }[] = [
    { name: 'says nothing', spoken: { text: [' '] } },
    {
      name: 'calls a tool',
      spoken: { calls: [{ id: 'c', name: 'list', args: {} }], end: 'tool_calls' },
    },
  ]
  for (const { name, spoken } of spoilt) {
    it(`fails, and is not tried again, if the model ${name}`, async () => {
      house.answers(spoken)
      const body = { model: 'gemini-3-flash-preview', input: [...talk, trigger], tools: [list] }
      const whole = await house.post(body)
      expect(whole.headers.get('x-should-retry')).to.equal('false')
      const { message } = await expectError(whole, { status: 502, code: 'provider_error' })
      expect(message).to.contain('no summary')
      const { response } = checkResponseEvents(
        await (await house.post({ ...body, stream: true })).text(),
      )
      expect(response).to.include({ status: 'failed' })
    })
  }

  it('that was cut off replaces nothing', async () => {
    house.answers({ ...says, end: 'length' })
    const body = { model: other, input: [...talk, trigger], tools: [list] }
    const { status, output } = await house.created(body)
    expect({ status, output }).to.deep.equal({ status: 'incomplete', output: [] })
    const refused = await house.post(
      { model: other, input: talk, tools: [list] },
      { to: '/compact' },
    )
    await expectError(refused, { status: 502, code: 'provider_error' })
  })

  it('of another account, of another origin, or changed, is refused', async () => {
    const [item] = await house.compacted(other)
    const { encrypted_content: own } = item!
    const stranger = await house.gateway.createKey('live', {
      accountId: await house.gateway.createAccount(),
    })
    const wrong = [
      own.slice(0, -1),
      `${own.slice(0, 8)}x${own.slice(9)}`,
      'gAAAA-cmp_1',
      '',
      'gw1..',
      own.slice(0, 40),
    ]
    const before = house.sentCount()
    for (const model of [native, other]) {
      const body = (encrypted_content: string) => ({
        model,
        input: [{ ...item, encrypted_content }, user('How many?')],
      })
      const expected = { status: 400, code: 'invalid_value', param: 'input[0].encrypted_content' }
      for (const content of wrong) await expectError(await house.post(body(content)), expected)
      await expectError(await house.post(body(own), { key: stranger }), expected)
    }
    expect(house.sentCount()).to.equal(before)
  })

  it('is not read as reasoning, nor reasoning as a compaction', async () => {
    house.answers({ ...says, calls: [{ id: 'call_2', name: 'list', args: {} }], end: 'tool_calls' })
    const { output } = await house.created({ model: native, input: 'Count.', tools: [list] })
    const { encrypted_content } = output.find(({ type }) => type === 'reasoning')!
    const wrong = { type: 'compaction', encrypted_content }
    const expected = { status: 400, code: 'invalid_value', param: 'input[0].encrypted_content' }
    await expectError(
      await house.post({ model: native, input: [wrong, user('How many?')] }),
      expected,
    )
    house.answers(says)
    const [item] = await house.compacted(other)
    house.answers(counts)
    const thought = { ...item, type: 'reasoning', summary: [] }
    await house.created({ model: native, input: [user('Hi.'), thought, ...talk], tools: [list] })
    expect(JSON.stringify(house.lastSent('openai'))).not.to.contain(summary)
  })

  const misplaced = [
    {
      name: 'before another item',
      input: [user('Hi.'), trigger, user('How many?')],
      param: 'input[1]',
    },
    { name: 'without a conversation', input: [trigger], param: 'input[0]' },
    { name: 'twice', input: [user('Hi.'), trigger, trigger], param: 'input[1]' },
  ]
  for (const { name, input, param } of misplaced) {
    it(`is refused with a trigger ${name}`, async () => {
      for (const model of [native, other]) {
        const expected = { status: 400, code: 'invalid_value', param }
        await expectError(await house.post({ model, input }), expected)
      }
    })
  }
})
