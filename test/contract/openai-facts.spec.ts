import { expect } from 'chai'
import { contract } from '../support/contract.ts'
import { openAiComplaints } from '../support/openai-facts.ts'
import { chatProperties } from '../support/openai-properties.ts'

const chat = '/v1/chat/completions'
const message = { role: 'assistant', content: 'Hi', refusal: null }
const choice = { index: 0, message, logprobs: null, finish_reason: 'stop' }
const identity = { id: 'a', created: 1, model: 'm' }
const whole = { ...identity, object: 'chat.completion', choices: [choice] }
const json = (value: unknown, status = 200) => ({
  status,
  type: 'application/json',
  text: JSON.stringify(value),
})
const piece = (delta: object, finish: string | null = null) => ({
  ...identity,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const stream = (...events: (object | string)[]) => ({
  status: 200,
  type: 'text/event-stream',
  text: events
    .map((event) => (typeof event === 'string' ? event : `data: ${JSON.stringify(event)}\n\n`))
    .join(''),
})
const begin = piece({ role: 'assistant', content: '' })
const end = piece({}, 'stop')
const done = 'data: [DONE]\n\n'
const without = (value: object, name: string) =>
  Object.fromEntries(Object.entries(value).filter(([key]) => key !== name))
const calling = (call: object) => ({ ...message, content: null, tool_calls: [call] })

describe("the check of answers against OpenAI's documentation", () => {
  const fine = [
    { path: chat, answer: json(whole) },
    { path: chat, answer: stream(begin, piece({ content: 'Hi' }), end, done) },
    { path: chat, answer: stream(': ping\n\n', begin, end, done) },
    {
      path: chat,
      answer: json({ error: { message: 'No.', type: 'x', param: null, code: null } }, 400),
    },
    { path: '/v1/images/generations', answer: json({ created: 1, data: [{ b64_json: 'AA' }] }) },
    { path: '/v1/models', answer: json({ object: 'list', data: [] }) },
  ]
  for (const { path, answer } of fine) {
    it(`accepts ${answer.text}`, () => {
      expect(openAiComplaints(path, answer)).to.deep.equal([])
    })
  }

  const wrong = [
    ...Object.keys(whole).map((name) => json(without(whole, name))),
    ...Object.keys(choice).map((name) => json({ ...whole, choices: [without(choice, name)] })),
    ...Object.keys(message).map((name) =>
      json({ ...whole, choices: [{ ...choice, message: without(message, name) }] }),
    ),
    json({ ...whole, id: '' }),
    json({ ...whole, choices: [] }),
    json({ ...whole, choices: [{ ...choice, finish_reason: 'eos' }] }),
    json({ ...whole, choices: [{ ...choice, message: { ...message, tool_calls: null } }] }),
    json({
      ...whole,
      choices: [
        { ...choice, message: calling({ id: 'c', function: { name: 'f', arguments: '' } }) },
      ],
    }),
    json({ error: { message: 'No.', type: 'x', param: null } }, 400),
    ...Object.keys(end).map((name) => stream(begin, without(end, name), done)),
    stream(begin, { ...end, choices: [{ index: 0, delta: {} }] }, done),
    stream(piece({ content: 'Hi' }), end, done),
    stream(begin, done),
    stream(begin, piece({ tool_calls: [{ index: 0, function: { arguments: '' } }] }), end, done),
    stream(begin, `id: 1\ndata: ${JSON.stringify(end)}\n\n`, done),
    stream(begin, `event: chunk\ndata: ${JSON.stringify(end)}\n\n`, done),
    stream(begin, `data: ${JSON.stringify(end)}\r\n\r\n`, done),
    stream(begin, 'event: error\ndata: {"message":"No."}\n\n'),
  ]
  for (const answer of wrong) {
    it(`rejects ${answer.text}`, () => {
      expect(openAiComplaints(chat, answer)).to.not.be.empty
    })
  }
})

describe("the contract's chat request", () => {
  it('has each property of OpenAI, so that typed clients can send it', () => {
    const { properties = {} } = contract.components.schemas['CreateChatCompletionRequest']!
    expect(Object.keys(properties)).to.include.members(Object.keys(chatProperties))
  })
})
