import { expect } from 'chai'
import fc from 'fast-check'
import type { ChatRequest } from '../../src/core/chat/chat.ts'
import { answerTo, hello, note, pdf } from '../support/chat-wire.ts'
import { pixel } from '../support/pixel.ts'
import { closedChats } from '../support/closed-chat/vendors.ts'
import { modelOf } from '../support/route.ts'
import { encryptedFor } from '../support/responses-schema.ts'
import { lostFields, prepareChat } from '../support/prepared-chat.ts'

type Messages = ChatRequest['messages']

const words = fc.constantFrom('Hi.', '', ' ', 'x\n', '“ä😀”')
const mark = fc.record({ cache_control: fc.constant({ type: 'ephemeral' }) }, { requiredKeys: [] })
const text = fc.tuple(words, mark).map(([said, marks]) => ({ type: 'text', text: said, ...marks }))
const image = fc.constant({ type: 'image_url', image_url: { url: pixel, detail: 'low' } })
const file = fc.constantFrom(pdf, note).map((url) => ({ type: 'file', file: { file_data: url } }))
const refusal = words.map((said) => ({ type: 'refusal', refusal: said }))
const content = (part: fc.Arbitrary<object>) =>
  fc.oneof(words, fc.array(part, { minLength: 1, maxLength: 3 }))

const thought = { type: 'thinking', thinking: 'Hm.', signature: 'EqQB' }
const sealed = { id: 'rs_1', encrypted_content: encryptedFor('rs_1') }
/** Members of answers that clients send back in requests. */
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
    { extra_content: { openai: { model: 'gpt-6.2-sol', reasoning: [sealed] } } },
    { extra_content: { openai: { reasoning: 'x' } } },
  ),
})
const userWith = (part: fc.Arbitrary<object>) =>
  content(part).map((said) => [{ role: 'user', content: said }])
const answer = fc
  .tuple(fc.oneof(content(fc.oneof(text, refusal)), fc.constant(null)), leftovers)
  .map(([said, rest]) => [{ role: 'assistant', content: said, ...rest }])
/** A message that calls tools, and messages with the results of the tools. */
const callingWith = (part: fc.Arbitrary<object>) =>
  fc
    .tuple(
      fc.uniqueArray(call, { minLength: 1, maxLength: 3, selector: ({ id }) => id }),
      fc.oneof(words, fc.constant(null)),
      leftovers,
      content(part),
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
const oldCall = words.map((result) => [
  { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } },
  { role: 'function', name: 'look', content: result },
])
const instructions = fc
  .tuple(fc.constantFrom('system', 'developer'), content(text))
  .map(([role, said]) => [{ role, content: said }])
/** A conversation with these parts, including deprecated function calls. */
const conversationWith = (part: fc.Arbitrary<object>) =>
  fc
    .array(fc.oneof(userWith(part), answer, callingWith(part), oldCall, instructions), {
      maxLength: 5,
    })
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
const options = fc
  .record(
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
      colour: fc.constant('red'),
    },
    { requiredKeys: [] },
  )
  // Drops the tool choice without tools, because a chosen tool must exist.
  .map(({ tool_choice: choice, ...rest }) =>
    rest.tools === undefined || choice === undefined ? rest : { ...rest, tool_choice: choice },
  )

const models = [
  'gpt-4.1',
  'gpt-5',
  'gpt-5.2',
  'gpt-5.4',
  'gpt-5.6-terra',
  'gpt-6-sol',
  'gpt-6.2-sol',
  'claude-haiku-4-5',
  'claude-opus-4-6',
  'claude-opus-5-5',
  'gemini-2.5-pro',
  'gemini-3.5-flash',
  'mistral/mistral-medium-latest',
  'deepseek/deepseek-v4-pro',
  'groq/gpt-oss-120b',
  'groq/qwen3.6-27b',
  'xai/grok-4.3',
  'alibaba/qwen3.8-max',
  'bytedance/seed-2-0-pro',
  'zai/glm-5.3',
  'zai/glm-4.7',
  'cerebras/gpt-oss-120b',
  'moonshot/kimi-k3',
  'moonshot/kimi-k2.6',
  'together/any',
  'openrouter/any',
  'azure/gpt-5.6-terra',
  'fireworks/any',
  'deepinfra/any',
  'nvidia/any',
  'cloudflare/any',
  'bedrock/any',
]
/** The content parts that a model accepts. */
function partsOf(model: string): fc.Arbitrary<object> {
  const { input_modalities: modalities } = modelOf(model).row
  if (!modalities.includes('image')) return text
  return modalities.includes('pdf') ? fc.oneof(text, image, file) : fc.oneof(text, image)
}

describe('any conversation that the contract permits', () => {
  for (const model of models) {
    it(`is translated for ${model} so that its vendor accepts it, with a warning for each loss`, () => {
      fc.assert(
        fc.property(conversationWith(partsOf(model)), options, (messages, rest) => {
          const prepared = prepareChat(model, { ...rest, messages })
          expect(prepared.problems).to.deep.equal([])
          const { status = 200, body: said } = answerTo(model, prepared.sent)!
          expect(status, JSON.stringify(said)).to.equal(200)
          if (modelOf(model).row.provider in closedChats)
            expect(lostFields(prepared)).to.deep.equal([])
        }),
        { numRuns: 200 },
      )
    })
  }
})
