import { expect } from 'chai'
import fc from 'fast-check'
import type OpenAI from 'openai'
import { startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { readChunks, readEvents } from '../support/event-stream.ts'
import { expectError } from '../support/expect-error.ts'
import { openAiClient } from '../support/openai-client.ts'
import type { ScriptedAnswer } from '../support/upstream.ts'

const chat = '/v1/chat/completions'
const messages = [{ role: 'user' as const, content: 'Hello' }]
const gemini = 'gemini-3.5-flash'
const claude = 'claude-sonnet-4-6'

type Candidate = Record<string, unknown>
const sse = (...events: unknown[]) => events.map((one) => `data: ${JSON.stringify(one)}\n\n`)
const say = (text: string) => ({ role: 'model', parts: [{ text }] })
/** A Gemini answer with one candidate, whole or streamed. */
const gives = (candidate: Candidate, stream: boolean, ...before: Candidate[]): ScriptedAnswer =>
  stream
    ? { pieces: sse(...[...before, candidate].map((one) => ({ candidates: [one] }))) }
    : { body: { candidates: [candidate] } }

type Begun = { type: string; [name: string]: unknown }
const named = (...events: Begun[]) =>
  events.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`)
const begun = { type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } }
const hi = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } }
const opened = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }

describe("answers in a vendor's own format", () => {
  let house: VendorGateway
  let client: OpenAI
  before(async () => {
    house = await startVendorGateway()
    client = openAiClient(house.gateway, house.gateway.liveKey)
  })
  after(() => house.stop())

  const ask = (model: string, members: object = {}) =>
    house.gateway.post(chat, { model, messages, ...members }, { key: house.gateway.liveKey })
  const lastRow = async () => (await house.gateway.usage()).at(-1)!

  for (const stream of [false, true]) {
    const how = stream ? 'streamed' : 'whole'
    const choiceOf = async (model: string) => {
      const request = { model, messages, stream }
      return stream
        ? (await client.chat.completions.stream({ ...request, stream }).finalChatCompletion())
            .choices[0]!
        : (await client.chat.completions.create({ ...request, stream: false })).choices[0]!
    }

    it(`${how}: \`error: null\` is no error`, async () => {
      const candidate = { content: say('Hi'), finishReason: 'STOP' }
      const answer = { candidates: [candidate], error: null }
      house.upstreams.google.answer(stream ? { pieces: sse(answer) } : { body: answer })
      expect((await choiceOf(gemini)).message.content).to.equal('Hi')
      if (stream) return
      const body = { content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn', error: null }
      house.upstreams.anthropic.answer({ body })
      expect((await choiceOf(claude)).message.content).to.equal('Hi')
    })

    const unanswered = ['OTHER', 'LANGUAGE', 'NO_IMAGE', 'MALFORMED_FUNCTION_CALL', 'NEWS']
    for (const finishReason of unanswered) {
      it(`${how}: ${finishReason} without content is the vendor's failure, and the next route answers`, async () => {
        house.upstreams.google.answer(gives({ finishReason }, stream))
        await expectError(await ask(gemini, { stream }), { status: 502, code: 'provider_error' })
        expect(await lastRow()).to.include({ outcome: 'failed', provider: null })
        house.upstreams.anthropic.answer(
          stream
            ? {
                pieces: named(
                  begun,
                  opened,
                  hi,
                  {
                    type: 'message_delta',
                    delta: { stop_reason: 'end_turn' },
                    usage: { output_tokens: 2 },
                  },
                  { type: 'message_stop' },
                ),
              }
            : { body: { content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' } },
        )
        const second = await ask(gemini, { stream, models: [claude] })
        expect(second.headers.get('x-gateway-model')).to.equal(claude)
        expect(await second.text()).to.contain('Hi')
      })
    }

    const filtered = ['SAFETY', 'PROHIBITED_CONTENT', 'RECITATION', 'IMAGE_SAFETY', 'MODEL_ARMOR']
    for (const finishReason of filtered) {
      it(`${how}: ${finishReason} without content is reported as filtered, with the reason`, async () => {
        house.upstreams.google.answer(gives({ finishReason, finishMessage: 'Too wild.' }, stream))
        const { message, finish_reason: reason } = await choiceOf(gemini)
        expect(reason).to.equal('content_filter')
        expect(message).to.include({ role: 'assistant', refusal: 'Too wild.' })
        expect(message.content ?? '').to.equal('')
      })
    }

    it(`${how}: a refusal of Anthropic has its reason`, async () => {
      const details = { type: 'refusal', category: 'bio', explanation: 'Not this.' }
      const end = { stop_reason: 'refusal', stop_details: details }
      house.upstreams.anthropic.answer(
        stream
          ? {
              pieces: named(
                begun,
                {
                  type: 'message_delta',
                  delta: { stop_reason: null },
                  usage: { output_tokens: 1 },
                },
                { type: 'message_delta', delta: end, usage: { output_tokens: 2 } },
                { type: 'message_stop' },
              ),
            }
          : { body: { content: [], ...end } },
      )
      const { message, finish_reason: reason } = await choiceOf(claude)
      expect(reason).to.equal('content_filter')
      expect(message).to.include({ refusal: 'Not this.' })
      expect(message.content ?? '').to.equal('')
    })

    it(`${how}: calls without ids get unique ones, and the answer an id and its model`, async () => {
      const functionCall = { name: 'look', args: {} }
      const parts = [{ functionCall }, { functionCall }]
      house.upstreams.google.answer(gives({ content: { parts }, finishReason: 'STOP' }, stream))
      const text = await (await ask(gemini, { stream })).text()
      const chunks = stream ? readChunks(text) : [JSON.parse(text) as { id: string; model: string }]
      for (const chunk of chunks as { id: string; model: string }[]) {
        expect(chunk.id).to.match(/^chatcmpl-\w{32}$/)
        expect(chunk.model).to.equal(gemini)
      }
      const first = await choiceOf(gemini)
      const again = await choiceOf(gemini)
      const ids = [first, again].flatMap(({ message }) => message.tool_calls!.map(({ id }) => id))
      expect(new Set(ids).size).to.equal(4)
      expect(first.finish_reason).to.equal('tool_calls')
      expect(first.message.tool_calls![1]).to.deep.include({
        type: 'function',
        function: { name: 'look', arguments: '{}' },
      })
    })
  }

  it('a blocked prompt is a content policy error', async () => {
    for (const blockReason of ['PROHIBITED_CONTENT', 'MODEL_ARMOR', 'JAILBREAK']) {
      const feedback = { promptFeedback: { blockReason } }
      for (const answer of [{ body: feedback }, { pieces: sse(feedback) }]) {
        house.upstreams.google.answer(answer)
        const response = await ask(gemini, { stream: 'pieces' in answer })
        await expectError(response, { status: 400, code: 'content_policy_violation' })
      }
    }
  })

  it('reasoning alone, before the vendor fails, is no answer', async () => {
    const thought = { content: { parts: [{ text: 'Hm.', thought: true }] } }
    house.upstreams.google.answer(gives({ finishReason: 'OTHER' }, true, thought))
    const events = readEvents(await (await ask(gemini, { stream: true })).text())
    expect(events.at(-1)).to.include({ name: 'error' })
    expect(await lastRow()).to.include({ outcome: 'failed' })
  })

  const tooLong: [string, 'anthropic' | 'google', object][] = [
    [
      claude,
      'anthropic',
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'prompt is too long: 208310 tokens > 200000 maximum',
        },
      },
    ],
    [
      claude,
      'anthropic',
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000',
        },
      },
    ],
    [
      gemini,
      'google',
      {
        error: {
          code: 400,
          status: 'INVALID_ARGUMENT',
          message:
            'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).',
        },
      },
    ],
  ]
  for (const [model, id, body] of tooLong) {
    it(`a conversation that is too long for ${model} is reported with OpenAI's code`, async () => {
      house.upstreams[id].answer({ status: 400, body })
      const { message } = await expectError(await ask(model), {
        status: 400,
        code: 'context_length_exceeded',
      })
      expect(JSON.stringify(body)).to.contain(message)
    })
  }

  for (const [model, id] of [
    [claude, 'anthropic'],
    [gemini, 'google'],
  ] as const) {
    it(`any error of ${id} becomes an error of the contract`, () =>
      fc.assert(
        fc.asyncProperty(
          fc.oneof(
            fc.json(),
            fc.record({ error: fc.jsonValue() }).map((one) => JSON.stringify(one)),
            fc
              .record({
                error: fc.record({
                  message: fc.jsonValue(),
                  type: fc.jsonValue(),
                  status: fc.jsonValue(),
                  details: fc.jsonValue(),
                  code: fc.jsonValue(),
                }),
              })
              .map((one) => JSON.stringify(one)),
          ),
          fc.constantFrom(200, 400, 429, 500),
          fc.boolean(),
          async (text, status, streamed) => {
            const events = {
              headers: { 'content-type': 'text/event-stream' },
              body: `data: ${text}\n\n`,
            }
            const asJson = { headers: { 'content-type': 'application/json' }, body: text }
            const answer = status === 200 && streamed ? events : asJson
            house.upstreams[id].answer({ status, ...answer })
            const response = await ask(model, { stream: streamed })
            const { error } = (await response.json()) as { error: { code: string; type: string } }
            expect(response.status, text).to.be.oneOf([400, 404, 413, 429, 502, 504])
            expect(error.code, text).not.to.equal('internal_error')
          },
        ),
        { numRuns: 60 },
      ))

    it(`any invalid event of ${id} ends the stream with an error that is recorded`, () =>
      fc.assert(
        fc.asyncProperty(fc.jsonValue(), async (error) => {
          const event = { type: 'error', error }
          house.upstreams[id].answer({
            pieces:
              id === 'google'
                ? sse({ candidates: [{ content: say('Hi') }] }, event)
                : named(begun, opened, hi, event),
          })
          const events = readEvents(await (await ask(model, { stream: true })).text())
          expect(events.at(-1)).to.include({ name: 'error' })
          expect(await lastRow()).to.include({ outcome: 'failed' })
        }),
        { numRuns: 15 },
      ))
  }
})
