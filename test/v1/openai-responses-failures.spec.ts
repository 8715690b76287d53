import { expect } from 'chai'
import { startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { expectError } from '../support/expect-error.ts'
import { completed, streamedResponse, wholeResponse } from '../support/responses-upstream.ts'

type Body = Record<string, unknown>

const tools = [{ type: 'function', function: { name: 'weather' } }]

describe('failures of OpenAI’s Responses API', () => {
  let house: VendorGateway
  before(async () => (house = await startVendorGateway()))
  after(() => house.stop())

  const answersWith = (output: object[], members: object) =>
    house.upstreams.openai.answer(wholeResponse(output, members))
  const streams = (...events: Body[]) => house.upstreams.openai.answer(streamedResponse(...events))
  const post = (members: object) =>
    house.gateway.post(
      '/v1/chat/completions',
      { model: 'gpt-6.2-sol', messages: [{ role: 'user', content: 'Hi' }], tools, ...members },
      { key: house.gateway.liveKey },
    )
  const lastRow = async () => (await house.gateway.usage()).at(-1)!

  it('come without the paths of the vendor’s own request', async () => {
    const message = "Invalid 'input[0].content[0].image_url'. Expected a URL."
    const error = { message, type: 'invalid_request_error', param: 'input[0]', code: null }
    house.upstreams.openai.answer(() => ({ status: 400, body: { error } }))
    for (const stream of [false, true]) {
      await expectError(await post({ stream }), {
        status: 400,
        code: 'invalid_value',
        param: null,
      })
    }
  })

  const failures: [string, object, number, string][] = [
    ['server_error', { code: 'server_error', message: 'Sorry.' }, 502, 'provider_error'],
    ['invalid_prompt', { code: 'invalid_prompt', message: 'No.' }, 400, 'content_policy_violation'],
    [
      'rate_limit_exceeded',
      { code: 'rate_limit_exceeded', message: 'Slow.' },
      429,
      'rate_limit_exceeded',
    ],
    ['image_too_large', { code: 'image_too_large', message: 'Large.' }, 400, 'invalid_value'],
  ]
  for (const [name, error, status, code] of failures) {
    it(`come from a response that failed with ${name}`, async () => {
      answersWith([], { status: 'failed', error })
      await expectError(await post({}), { status, code })
      streams({ type: 'response.failed', response: { status: 'failed', error } })
      await expectError(await post({ stream: true }), { status, code })
      streams({ type: 'error', ...error, param: null })
      await expectError(await post({ stream: true }), { status, code })
    })
  }

  it('come after the first text, also for a missing end', async () => {
    const text = {
      type: 'response.output_text.delta',
      output_index: 0,
      content_index: 0,
      delta: 'Hi',
    }
    const failed = { error: { code: 'server_error', message: 'Sorry.' } }
    for (const rest of [[{ type: 'response.failed', response: failed }], []]) {
      streams(text, ...rest)
      const said = await (await post({ stream: true })).text()
      expect(said).to.contain('"Hi"').and.contain('event: error').and.not.contain('[DONE]')
      expect(await lastRow()).to.include({ outcome: 'failed', error_code: 'provider_error' })
    }
  })

  it('come for answers of another form', async () => {
    for (const body of [[], 'x', { output: 3 }, { object: 'response', output: null }]) {
      house.upstreams.openai.answer(() => ({ body: JSON.stringify(body) }))
      await expectError(await post({}), { status: 502, code: 'provider_error' })
    }
    for (const event of [
      { type: 'response.output_text.delta', output_index: 0, delta: 4 },
      { type: 'response.function_call_arguments.delta', output_index: 9, delta: '{}' },
    ]) {
      streams(event, completed)
      await expectError(await post({ stream: true }), { status: 502, code: 'provider_error' })
    }
  })
})
