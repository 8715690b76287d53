import { expect } from 'chai'
import fc from 'fast-check'
import type { ChatRequest } from '../../src/core/chat/chat.ts'
import { answerTo, hello, note, pdf, write, type WireRow } from '../support/chat-wire.ts'
import { pixel } from '../support/pixel.ts'

type Messages = ChatRequest['messages']

const words = fc.constantFrom('Hi.', '', ' ', 'x\n', '“ä😀”')
const mark = fc.record({ cache_control: fc.constant({ type: 'ephemeral' }) }, { requiredKeys: [] })
const text = fc.tuple(words, mark).map(([said, marks]) => ({ type: 'text', text: said, ...marks }))
const shown = fc.oneof(
  fc.constant({ type: 'image_url', image_url: { url: pixel, detail: 'low' } }),
  fc.constantFrom(pdf, note).map((url) => ({ type: 'file', file: { file_data: url } })),
)
const refusal = words.map((said) => ({ type: 'refusal', refusal: said }))
const content = (part: fc.Arbitrary<object>) =>
  fc.oneof(words, fc.array(part, { minLength: 1, maxLength: 3 }))

const thought = { type: 'thinking', thinking: 'Hm.', signature: 'EqQB' }
/** What only answers have, as clients hand it back. */
const leftovers = fc.record(
  {
    refusal: fc.constantFrom(null, 'No.'),
    reasoning_content: fc.constantFrom(null, 'Hm.'),
    annotations: fc.constant([]),
    parsed: fc.constant(null),
  },
  { requiredKeys: [] },
)
const call = fc.record({
  id: fc.constantFrom('call_1', 'functions.look:0', 'toolu_01', 'x'.repeat(60)),
  args: fc.constantFrom('', '{}', '{"x":[1]}'),
  extra: fc.constantFrom(
    {},
    { extra_content: { google: { thought_signature: 'x' } } },
    { extra_content: { anthropic: { thinking_blocks: [thought] } } },
  ),
})
const user = content(fc.oneof(text, shown)).map((said) => [{ role: 'user', content: said }])
const answer = fc
  .tuple(fc.oneof(content(fc.oneof(text, refusal)), fc.constant(null)), leftovers)
  .map(([said, rest]) => [{ role: 'assistant', content: said, ...rest }])
/** An answer that calls tools, and their results. */
const calling = fc
  .tuple(
    fc.uniqueArray(call, { minLength: 1, maxLength: 3, selector: ({ id }) => id }),
    fc.oneof(words, fc.constant(null)),
    leftovers,
    content(fc.oneof(text, shown)),
  )
  .map(([calls, said, rest, result]) => [
    {
      role: 'assistant',
      content: said,
      ...rest,
      tool_calls: calls.map(({ id, args, extra }) => {
        return { id, type: 'function', function: { name: 'look', arguments: args }, ...extra }
      }),
    },
    ...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: result })),
  ])
const instructions = fc
  .tuple(fc.constantFrom('system', 'developer'), content(text))
  .map(([role, said]) => [{ role, content: said }])
const conversation = fc
  .array(fc.oneof(user, answer, calling, instructions), { maxLength: 5 })
  .map((turns) => [...turns.flat(), ...hello] as Messages)

const parameters = fc.constantFrom(
  undefined,
  {},
  { type: 'object', properties: { x: { type: 'integer', minimum: 1 } } },
  { type: 'object', additionalProperties: { type: 'string' } },
)
const tools = fc
  .tuple(parameters, fc.constantFrom(undefined, null, true), mark)
  .map(([given, strict, marks]) => [
    {
      type: 'function',
      function: {
        name: 'look',
        ...(given && { parameters: given }),
        ...(strict !== undefined && { strict }),
      },
      ...marks,
    },
  ])
const schema = { type: 'object', properties: { tags: { type: 'array', items: {} } } }
const options = fc.record(
  {
    tools,
    tool_choice: fc.constantFrom('auto', 'none', 'required'),
    parallel_tool_calls: fc.boolean(),
    response_format: fc.constantFrom(
      { type: 'text' },
      { type: 'json_object' },
      { type: 'json_schema', json_schema: { name: 'it', schema } },
      { type: 'json_schema', json_schema: { name: 'it' } },
    ),
    reasoning_effort: fc.constantFrom(null, 'none', 'minimal', 'medium', 'max'),
    temperature: fc.constantFrom(null, 0, 1, 1.5, 2),
    top_p: fc.constantFrom(null, 0.5, 1),
    max_tokens: fc.constantFrom(1, 1024, 4000),
    stop: fc.constantFrom(null, 'END', ['\n', 'END']),
    seed: fc.constantFrom(null, 4),
    logprobs: fc.boolean(),
    stream: fc.boolean(),
    cache_control: fc.constant({ type: 'ephemeral' }),
    user: fc.constant('u-1'),
  },
  { requiredKeys: [] },
)

const models = [
  'gpt-4.1',
  'gpt-5',
  'gpt-5.2',
  'gpt-5.4',
  'gpt-5.6-terra',
  'gpt-6-sol',
  'claude-haiku-4-5',
  'claude-opus-4-6',
  'claude-opus-5-5',
  'gemini-2.5-pro',
  'gemini-3.5-flash',
]

describe('any conversation that the contract allows', () => {
  for (const model of models) {
    it(`is put to ${model} so that its vendor takes it`, () => {
      fc.assert(
        fc.property(conversation, options, (messages, rest) => {
          const { body, problems } = write({
            model,
            request: { ...rest, messages } as WireRow['request'],
          })
          expect(problems).to.deep.equal([])
          const { status = 200, body: said } = answerTo(model, body)!
          expect(status, JSON.stringify(said)).to.equal(200)
        }),
        { numRuns: 200 },
      )
    })
  }
})
