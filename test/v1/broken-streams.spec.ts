import { expect } from 'chai'
import { doneEvent, roleChunk, textChunk } from '../support/chat-answers.ts'
import { readEvents, readText } from '../support/event-stream.ts'
import { startEveryVendor, type EveryVendor } from '../support/every-vendor.ts'
import { expectError } from '../support/expect-error.ts'

describe('a stream that fails in the middle', () => {
  let house: EveryVendor
  before(async () => {
    house = await startEveryVendor()
  })
  after(() => house.stop())

  const begun = [roleChunk, textChunk('It ')]
  const data = (value: object | string) =>
    `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`
  const breaks: {
    name: string
    model?: string
    events: string[]
    code: string
    message: RegExp
  }[] = [
    {
      name: "an aggregator's error with its message",
      model: 'openrouter/some/model',
      events: [
        data({
          id: 'x',
          choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
          error: { code: 502, message: 'Provider disconnected unexpectedly' },
        }),
      ],
      code: 'provider_error',
      message: /It said: Provider disconnected unexpectedly\./,
    },
    {
      name: "an invalid tool call of the model, the caller's error",
      model: 'groq/gpt-oss-120b',
      events: [
        data({
          error: {
            message: 'Failed to call a function.',
            type: 'invalid_request_error',
            code: 'tool_use_failed',
            failed_generation: '<function=x>',
          },
        }),
      ],
      code: 'invalid_value',
      message: /^Failed to call a function\.$/,
    },
    {
      name: 'a flat error followed by an end mark',
      events: [
        data({
          object: 'error',
          message: 'Out of memory.',
          type: 'InternalServerError',
          code: 500,
        }),
        doneEvent,
      ],
      code: 'provider_error',
      message: /It said: Out of memory\./,
    },
    {
      name: 'an event named "error"',
      events: ['event: error\ndata: {"message":"Slow down.","code":429}\n\n'],
      code: 'rate_limit_exceeded',
      message: /limits the rate/,
    },
    {
      name: 'a conversation that is too long, reported late',
      events: [
        data({ error: { message: 'the request exceeds the available context size', code: 400 } }),
      ],
      code: 'context_length_exceeded',
      message: /^the request exceeds/,
    },
    {
      name: 'a finish reason for a network failure',
      events: [data({ choices: [{ index: 0, delta: {}, finish_reason: 'network_error' }] })],
      code: 'provider_error',
      message: /failed \(overloaded\)\. Try/,
    },
    ...(
      [
        ['half an event', '{"choices":[{"index":0,"delta":{"content":"is'],
        ['invalid JSON', 'It is 2.'],
        ['a number', '2'],
        ['null', 'null'],
        ['a list', '[]'],
        ['choices that are not a list', '{"choices":{"index":0}}'],
        ['choices that are a text', '{"choices":"It is 2."}'],
        ['a choice that is null', '{"choices":[null]}'],
        ['a delta that is a text', '{"choices":[{"delta":"is"}]}'],
        ['a content that is a number', '{"choices":[{"delta":{"content":2}}]}'],
        ['calls that are not a list', '{"choices":[{"delta":{"tool_calls":{"id":"x"}}}]}'],
        ['a call that is null', '{"choices":[{"delta":{"tool_calls":[null]}}]}'],
      ] as const
    ).map(([name, text]) => ({
      name,
      events: [data(text), textChunk('is 2.'), doneEvent],
      code: 'provider_error',
      message: /failed \(malformed\)\. Try/,
    })),
    {
      name: 'a text with a line end in it',
      events: [textChunk('is@2.').replace('@', '\n'), doneEvent],
      code: 'provider_error',
      message: /failed \(malformed\)\. Try/,
    },
    {
      name: 'no end',
      events: [],
      code: 'provider_error',
      message: /failed \(unreachable\)/,
    },
  ]
  for (const { name, model = 'own/house', events, code, message } of breaks) {
    for (const inOne of [false, true]) {
      it(`is reported within the stream: ${name}${inOne ? ', all in one piece' : ''}`, async () => {
        const pieces = [...begun, ...events]
        house.upstream.answer({ pieces: inOne ? [pieces.join('')] : pieces })
        const response = await house.ask(model, true)
        const text = await response.text()
        expect(response.status, text).to.equal(200)
        expect(readText(text)).to.equal('It ')
        const last = readEvents(text).at(-1)!
        expect(last.name).to.equal('error')
        const { error } = JSON.parse(last.data!) as { error: { code: string; message: string } }
        expect(error.code).to.equal(code)
        expect(error.message).to.match(message)
        const row = (await house.gateway.usage()).at(-1)!
        expect(row).to.include({ outcome: 'failed', error_code: code })
      })
    }
  }

  for (const { name, model = 'own/house', events, code } of breaks) {
    it(`is an error for a caller without streaming: ${name}`, async () => {
      house.upstream.answer({ pieces: [...begun, ...events] })
      const { error } = (await (await house.ask(model, false)).json()) as {
        error: { code: string }
      }
      expect(error.code).to.equal(code)
    })
  }

  for (const [said, reason] of [
    ['guardrail_intervened', 'content_filter'],
    ['eos', 'stop'],
  ])
    it(`gets OpenAI's finish reason for a vendor's: ${said}`, async () => {
      const end = data({ choices: [{ index: 0, delta: {}, finish_reason: said }] })
      house.upstream.answer({ pieces: [...begun, end, doneEvent] })
      const text = await (await house.ask('own/house', true)).text()
      expect(text).to.contain(`"finish_reason":"${reason}"`).and.not.contain(said)
    })

  it('gets a finish reason when it has only an end mark', async () => {
    house.upstream.answer({ pieces: [...begun, doneEvent] })
    const text = await (await house.ask('own/house', true)).text()
    expect(text).to.contain('"finish_reason":"stop"')
    expect(text.endsWith(doneEvent)).to.equal(true)
  })

  for (const [name, pieces] of [
    ['is only an end mark', [doneEvent]],
    ['begins with invalid JSON', ['data: <html>\n\n', textChunk('Hi'), doneEvent]],
    ['begins with half an event', ['data: {"choices":[{"delta":{"con\n\n', doneEvent]],
    ['has choices of another type', [data({ choices: 'Hi' }), doneEvent]],
  ] as const) {
    it(`is 502, so that another route can be tried, when it ${name}`, async () => {
      house.upstream.answer({ pieces })
      await expectError(await house.ask('own/house', true), { status: 502, code: 'provider_error' })
    })
  }
})
