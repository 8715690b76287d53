import { expect } from 'chai'
import type OpenAI from 'openai'
import { startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { openAiClient } from '../support/openai-client.ts'
import { openAiDouble } from '../support/openai-upstream.ts'
import { encryptedFor } from '../support/responses-schema.ts'
import { completed, streamedResponse, wholeResponse } from '../support/responses-upstream.ts'
import type { Spoken } from '../support/spoken.ts'

type Body = Record<string, unknown>
type Input = { type?: string; [member: string]: unknown }[]
type Message = OpenAI.ChatCompletionMessageParam

/** A model that refuses tools in the chat API, whatever the effort. */
const model = 'gpt-6.2-sol'
const weather = {
  type: 'function' as const,
  function: { name: 'weather', parameters: { type: 'object', properties: {} } },
}
const shell = { type: 'custom' as const, custom: { name: 'shell' } }
const question: Message = { role: 'user', content: 'How is it in Rome and in Oslo?' }
const counts = { input: 1200, output: 90, cached: 1000, reasoning: 40 }
const callsTwice: Spoken = {
  reasoning: ['secret'],
  text: ['I look.'],
  calls: [
    { id: 'call_1', name: 'weather', args: { town: 'Rome' } },
    { id: 'call_2', name: 'weather', args: { town: 'Oslo "North"' } },
  ],
  end: 'tool_calls',
  counts,
}
const unreadable = {
  status: 400,
  body: {
    error: {
      message: 'The encrypted content gAAA...wXBV could not be verified.',
      type: 'invalid_request_error',
      param: 'input[1].encrypted_content',
      code: 'invalid_encrypted_content',
    },
  },
}

describe('tools of OpenAI’s models that have them in the Responses API only', () => {
  let house: VendorGateway
  let client: OpenAI
  before(async () => {
    house = await startVendorGateway()
    client = openAiClient(house.gateway, house.gateway.liveKey)
  })
  after(() => house.stop())

  const says = (spoken: Spoken) => house.upstreams.openai.answer(openAiDouble(() => spoken))
  const sent = () => house.upstreams.openai.requests.map(({ body }) => body as Body)
  const inputTypes = (body: Body | undefined) =>
    (body!['input'] as Input).map(({ type, role }) => type ?? role)
  const lastRow = async () => (await house.gateway.usage()).at(-1)!
  const post = (members: object) =>
    house.gateway.post(
      '/v1/chat/completions',
      { model, messages: [question], tools: [weather], ...members },
      { key: house.gateway.liveKey },
    )
  const answersWith = (output: object[]) => house.upstreams.openai.answer(wholeResponse(output))
  const streams = (...events: Body[]) =>
    house.upstreams.openai.answer(streamedResponse(...events, completed))

  for (const stream of [false, true]) {
    const turn = async (messages: Message[], tools: OpenAI.ChatCompletionTool[] = [weather]) => {
      const request = { model, messages, tools, reasoning_effort: 'high' as const }
      if (!stream) return client.chat.completions.create(request)
      const options = { include_usage: true }
      return client.chat.completions
        .stream({ ...request, stream_options: options })
        .finalChatCompletion()
    }

    describe(stream ? 'streamed' : 'whole', () => {
      it('are called over two turns, and the reasoning goes round', async () => {
        says(callsTwice)
        const { choices, usage } = await turn([question])
        const { message, finish_reason: finish } = choices[0]!
        expect(finish).to.equal('tool_calls')
        expect(message.content).to.equal('I look.')
        const calls = message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[]
        expect(
          calls.map((call) => [call.id, JSON.parse(call.function.arguments) as unknown]),
        ).to.deep.equal([
          ['call_1', { town: 'Rome' }],
          ['call_2', { town: 'Oslo "North"' }],
        ])
        expect(usage).to.deep.include({ prompt_tokens: 1200, completion_tokens: 90 })
        expect(usage!.prompt_tokens_details!.cached_tokens).to.equal(1000)
        expect(usage!.completion_tokens_details!.reasoning_tokens).to.equal(40)
        // Per token: 200 of input at 2000, 1000 cached at 100, 90 of output at 10000 nano-dollars.
        expect(await lastRow()).to.include({
          cost_nano_usd: 200 * 2000 + 1000 * 100 + 90 * 10_000,
          cost_status: 'exact',
          outcome: 'ok',
        })

        says({ text: ['Warm ', 'in both.'] })
        const results = calls.map(({ id }) => {
          return { role: 'tool' as const, tool_call_id: id, content: '{"celsius":21}' }
        })
        const second = await turn([question, message, ...results])
        expect(second.choices[0]!.message.content).to.equal('Warm in both.')
        expect(second.choices[0]!.finish_reason).to.equal('stop')
        expect(second).not.to.have.property('warnings')
        expect(inputTypes(sent()[0])).to.deep.equal([
          'user',
          'reasoning',
          'assistant',
          'function_call',
          'function_call',
          'function_call_output',
          'function_call_output',
        ])
        expect(sent()[0]).to.deep.include({ store: false, reasoning: { effort: 'high' } })
      })

      it('continue without reasoning that the vendor cannot decrypt, as with a new key', async () => {
        says(callsTwice)
        const { message } = (await turn([question])).choices[0]!
        const double = openAiDouble(() => ({ text: ['Warm.'] }))
        house.upstreams.openai.answer((request) => {
          const hasThoughts = inputTypes(request.body as Body).includes('reasoning')
          return hasThoughts ? unreadable : double(request)
        })
        const results = message.tool_calls!.map(({ id }) => {
          return { role: 'tool' as const, tool_call_id: id, content: '21' }
        })
        const second = await turn([question, message, ...results])
        expect(second.choices[0]!.message.content).to.equal('Warm.')
        expect(sent()).to.have.length(2)
        expect(await lastRow()).to.include({ outcome: 'ok' })
      })

      it('may be custom tools', async () => {
        const call = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_1', name: 'shell' }
        const at = { output_index: 0, item_id: 'ctc_1' }
        if (stream) {
          streams(
            { type: 'response.output_item.added', ...at, item: { ...call, input: '' } },
            { type: 'response.custom_tool_call_input.delta', ...at, delta: 'ls ' },
            { type: 'response.custom_tool_call_input.delta', ...at, delta: '-l' },
            { type: 'response.custom_tool_call_input.done', ...at, input: 'ls -l' },
            { type: 'response.output_item.done', ...at, item: { ...call, input: 'ls -l' } },
          )
        } else answersWith([{ ...call, input: 'ls -l' }])
        const { message } = (await turn([question], [shell])).choices[0]!
        expect(message.tool_calls![0]).to.deep.include({ id: 'call_1', type: 'custom' })
        expect(message.tool_calls![0]).to.have.deep.property('custom', {
          name: 'shell',
          input: 'ls -l',
        })
        says({ text: ['One file.'] })
        await turn(
          [question, message, { role: 'tool', tool_call_id: 'call_1', content: 'a' }],
          [shell],
        )
        expect(inputTypes(sent()[0])).to.deep.equal([
          'user',
          'custom_tool_call',
          'custom_tool_call_output',
        ])
      })

      for (const [end, finish] of [
        ['length', 'length'],
        ['content_filter', 'content_filter'],
      ] as const) {
        it(`end with ${finish} when the response is incomplete`, async () => {
          says({ ...callsTwice, end })
          const response = await post({ stream })
          const text = await response.text()
          expect(text).to.contain(`"finish_reason":"${finish}"`)
          expect(text).not.to.contain('"finish_reason":"tool_calls"')
        })
      }

      it('pass a refusal to use them', async () => {
        const item = { type: 'message', id: 'msg_1', role: 'assistant' }
        if (stream) {
          const at = { output_index: 0, item_id: 'msg_1', content_index: 0 }
          streams(
            { type: 'response.output_item.added', output_index: 0, item },
            { type: 'response.refusal.delta', ...at, delta: 'I will ' },
            { type: 'response.refusal.delta', ...at, delta: 'not.' },
          )
        } else {
          answersWith([{ ...item, content: [{ type: 'refusal', refusal: 'I will not.' }] }])
        }
        const { message } = (await turn([question])).choices[0]!
        expect(message).to.include({ refusal: 'I will not.' })
        expect(message.content ?? '').to.equal('')
      })
    })
  }

  it('work with a test key', async () => {
    const tests = openAiClient(house.gateway, house.gateway.testKey)
    const { choices } = await tests.chat.completions.create({
      model,
      messages: [question],
      tools: [weather],
      tool_choice: 'required',
    })
    expect(choices[0]!.message.tool_calls).to.have.length(1)
  })

  it('put a paragraph between the texts of two messages', async () => {
    const message = (id: string, text: string) => ({
      type: 'message',
      id,
      role: 'assistant',
      content: [{ type: 'output_text', text, annotations: [] }],
    })
    answersWith([message('msg_1', 'First.'), message('msg_2', 'Second.')])
    expect(await (await post({})).text()).to.contain('"content":"First.\\n\\nSecond."')
    const deltas = ['First.', 'Second.'].flatMap((delta, output_index): Body[] => [
      { type: 'response.output_item.added', output_index, item: message('', '') },
      { type: 'response.output_text.delta', output_index, content_index: 0, delta },
    ])
    streams(...deltas)
    const text = await (await post({ stream: true })).text()
    expect(text).to.contain('"content":"First."').and.to.contain('"content":"\\n\\nSecond."')
  })

  it('send arguments that came in no piece', async () => {
    const item = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'weather' }
    const added = { type: 'response.output_item.added', output_index: 0, item }
    const done = { type: 'response.output_item.done', output_index: 0 }
    streams(added, { ...done, item: { ...item, arguments: '{"a":1}' } })
    expect(await (await post({ stream: true })).text()).to.contain('{\\"a\\":1}')
  })

  it('drop reasoning of another model and malformed reasoning, with a warning', async () => {
    const reasoning = [{ id: 'rs_1', encrypted_content: encryptedFor('rs_1') }]
    for (const openai of [{ model: 'gpt-6-astra', reasoning }, { model, reasoning: [{}] }, 7]) {
      says({ text: ['Warm.'] })
      const call = {
        id: 'call_1',
        type: 'function',
        function: { name: 'weather', arguments: '{}' },
      }
      const answer = await post({
        messages: [
          question,
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ ...call, extra_content: { openai } }],
          },
          { role: 'tool', tool_call_id: 'call_1', content: '21' },
        ],
      })
      expect(answer.status).to.equal(200)
      const { warnings } = (await answer.json()) as { warnings: { param: string }[] }
      expect(warnings.map(({ param }) => param)).to.deep.equal([
        'messages[1].tool_calls[0].extra_content.openai',
      ])
      expect(inputTypes(sent().at(-1))).not.to.include('reasoning')
    }
  })
})
