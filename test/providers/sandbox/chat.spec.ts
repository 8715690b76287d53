import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import fc from 'fast-check'
import type { ChatRequest } from '../../../src/core/chat/chat.ts'
import { tokensOf } from '../../../src/providers/sandbox/tokens.ts'
import { sandboxUpstream } from '../../../src/providers/sandbox/upstream.ts'
import { readChunks, readText } from '../../support/event-stream.ts'

// Schemas have the type `object`, because the contract's types do not describe their content.
type Asked = Partial<Omit<ChatRequest, 'response_format' | 'tools'>> & {
  prompt?: string
  response_format?: object
  tools?: object[]
}
type Received = {
  status: number | undefined
  headers: Record<string, unknown>
  text: string
  /** The error that cut the answer; undefined if the answer ended normally. */
  broken: string | undefined
}
type Usage = { prompt_tokens: number; completion_tokens: number; total_tokens: number }
type Completion = {
  id: string
  choices: {
    finish_reason: string
    message: {
      content: string | null
      tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[]
    }
  }[]
  usage?: Usage
}

/** Sends a conversation to the sandbox in the wire format of a vendor, as the gateway does. */
function ask({ prompt = 'hello there', ...more }: Asked, routeIndex = 0): Promise<Received> {
  const body = { model: 'm', messages: [{ role: 'user', content: prompt }], ...more }
  const render = () => Promise.reject(new Error('No picture is expected.'))
  const dispatch = sandboxUpstream({ routeIndex, render, clock: () => 1_800_000_000_500 })
  return new Promise((resolve) => {
    const received: Received = { status: undefined, headers: {}, text: '', broken: undefined }
    const request = {
      method: 'POST' as const,
      path: '/chat/completions',
      headers: {},
      body: JSON.stringify(body),
      limits: { headersTimeoutMs: 1000, idleTimeoutMs: 1000, endTimeoutMs: 1000 },
    }
    dispatch(request, {
      start: () => undefined,
      head: (status, headers) => Object.assign(received, { status, headers }),
      data: (piece) => (received.text += piece.toString()),
      end: () => resolve(received),
      error: ({ message }) => resolve({ ...received, broken: message }),
    })
  })
}
const complete = async (asked: Asked) => JSON.parse((await ask(asked)).text) as Completion
const stream = async (asked: Asked) => {
  const { text } = await ask({ ...asked, stream: true })
  const chunks = readChunks(text)
  const pieces = chunks.flatMap(({ choices }) =>
    choices.flatMap(({ delta }) => (delta.content ? [delta.content] : [])),
  )
  return { text, pieces, usage: chunks.at(-1)?.usage as Usage | undefined }
}

const prompt = fc
  .string({ unit: 'grapheme', maxLength: 300 })
  .filter((one) => !one.includes('sandbox:'))
const asked: fc.Arbitrary<Asked> = fc.record(
  {
    prompt,
    max_tokens: fc.integer({ min: 1, max: 60 }),
    stop: fc.constantFrom('the', ['last', 'nowhere'], ' ', '“'),
    n: fc.integer({ min: 1, max: 3 }),
  },
  { requiredKeys: ['prompt'] },
)

describe('the tokens of the sandbox', () => {
  it('join to the whole text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const tokens = tokensOf(text)
        expect(tokens.join('')).to.equal(text)
        expect(tokens).to.not.include('')
      }),
    )
  })

  it('are pieces of words with the preceding space', () => {
    expect(tokensOf('A lighthouse, 12345!')).to.deep.equal([
      'A',
      ' lighthou',
      'se',
      ',',
      ' 123',
      '45',
      '!',
    ])
  })
})

describe('a conversation with the sandbox', () => {
  it('is the same for the same request', () =>
    fc.assert(
      fc.asyncProperty(asked, async (one) => {
        expect(await ask(one)).to.deep.equal(await ask(one))
      }),
    ))

  it('streams as many pieces as it counts, with the same text as without a stream', () =>
    fc.assert(
      fc.asyncProperty(asked, async (one) => {
        const [streamed, whole] = [await stream(one), await complete(one)]
        expect(streamed.pieces).to.have.length(streamed.usage!.completion_tokens)
        expect(streamed.usage).to.deep.equal(whole.usage)
        const words = whole.choices.map(({ message }) => message.content).join('')
        expect(readText(streamed.text)).to.equal(words)
        const { prompt_tokens: read, completion_tokens: said, total_tokens: all } = whole.usage!
        expect(all).to.equal(read + said)
      }),
    ))

  it('counts the tokens of the prompt', async () => {
    const { usage } = await complete({ prompt: 'one two three' })
    expect(usage?.prompt_tokens).to.equal(3)
  })

  it('ends at max_tokens with the finish reason length', () =>
    fc.assert(
      fc.asyncProperty(prompt, fc.integer({ min: 1, max: 300 }), async (words, most) => {
        const whole = tokensOf((await complete({ prompt: words })).choices[0]!.message.content!)
        const { choices, usage } = await complete({ prompt: words, max_tokens: most })
        const [{ message, finish_reason: why } = { message: { content: '' }, finish_reason: '' }] =
          choices
        expect(message.content).to.equal(whole.slice(0, most).join(''))
        expect(usage!.completion_tokens).to.equal(Math.min(most, whole.length))
        expect(why).to.equal(whole.length > most ? 'length' : 'stop')
      }),
    ))

  it('prefers max_completion_tokens to max_tokens', async () => {
    const { usage } = await complete({ max_completion_tokens: 2, max_tokens: 5 })
    expect(usage?.completion_tokens).to.equal(2)
  })

  for (const stop of ['sandbox', ['never said', ' sandbox', 'as'], [''], null]) {
    it(`ends before the first of the stop marks ${JSON.stringify(stop)}`, async () => {
      const full = (await complete({})).choices[0]!.message.content!
      const marks = [stop ?? []].flat().filter((mark) => mark !== '')
      const ends = marks.map((mark) => full.indexOf(mark)).filter((at) => at >= 0)
      const { choices } = await complete({ stop })
      expect(choices[0]!.message.content).to.equal(full.slice(0, Math.min(full.length, ...ends)))
      expect(choices[0]!.finish_reason).to.equal('stop')
    })
  }

  const schema = {
    type: 'object',
    properties: {
      title: { type: 'string' },
      steps: { type: 'array', items: { $ref: '#/$defs/step' }, minItems: 2 },
    },
    required: ['title', 'steps'],
    additionalProperties: false,
    $defs: {
      step: {
        type: 'object',
        properties: { at: { type: 'integer', minimum: 5 } },
        required: ['at'],
      },
    },
  }
  const isValid = new Ajv2020().compile(schema)

  it('answers in the requested JSON schema', async () => {
    const format = { type: 'json_schema' as const, json_schema: { name: 'plan', schema } }
    const { choices } = await complete({ response_format: format })
    expect(isValid(JSON.parse(choices[0]!.message.content!))).to.equal(true)
  })

  it('answers with a JSON object for json_object', async () => {
    const { choices } = await complete({ response_format: { type: 'json_object' } })
    expect(JSON.parse(choices[0]!.message.content!)).to.be.an('object')
  })

  const tools = ['other', 'plan'].map((name) => ({
    type: 'function' as const,
    function: { name, parameters: schema },
  }))
  for (const { choice, name } of [
    { choice: 'required' as const, name: 'other' },
    { choice: { type: 'function' as const, function: { name: 'plan' } }, name: 'plan' },
  ]) {
    it(`calls the tool ${name}, with arguments that its schema allows`, async () => {
      const { choices } = await complete({ tools, tool_choice: choice })
      const [call] = choices[0]!.message.tool_calls ?? []
      expect(choices[0]).to.include({ finish_reason: 'tool_calls' })
      expect(choices[0]!.message.content).to.equal(null)
      expect(call?.function.name).to.equal(name)
      expect(isValid(JSON.parse(call!.function.arguments))).to.equal(true)
    })
  }

  it('answers with text when tools are optional', async () => {
    const { choices } = await complete({ tools, tool_choice: 'auto' })
    expect(choices[0]!.message.content).to.be.a('string')
  })
})

describe('a scenario of the sandbox', () => {
  for (const { words, status, code } of [
    { words: 'sandbox:status=429', status: 429, code: null },
    { words: 'sandbox:status=500', status: 500, code: null },
    { words: 'please sandbox:content-policy now', status: 400, code: 'content_policy_violation' },
    { words: 'sandbox:insufficient-quota', status: 429, code: 'insufficient_quota' },
    { words: 'sandbox:first-route-fails', status: 503, code: 'overloaded' },
  ]) {
    it(`answers ${words} with ${status}`, async () => {
      const received = await ask({ prompt: words })
      const { error } = JSON.parse(received.text) as { error: { code: string | null } }
      expect({ status: received.status, code: error.code }).to.deep.equal({ status, code })
      expect(received.headers['retry-after']).to.equal(status === 429 ? '1' : undefined)
    })
  }

  for (const words of ['notsandbox:status=500', 'status=500', 'the sandbox: status 500']) {
    it(`is not in ${words}`, async () => {
      expect((await ask({ prompt: words })).status).to.equal(200)
    })
  }

  it('applies in the last user message only', async () => {
    const messages = [
      { role: 'user' as const, content: 'sandbox:status=500' },
      { role: 'assistant' as const, content: 'sandbox:status=501' },
      { role: 'user' as const, content: 'and now?' },
    ]
    expect((await ask({ messages })).status).to.equal(200)
  })

  it('fails the first route only', async () => {
    expect((await ask({ prompt: 'sandbox:first-route-fails' }, 1)).status).to.equal(200)
  })

  it('answers with HTML, or with an empty body', async () => {
    const malformed = await ask({ prompt: 'sandbox:malformed' })
    const empty = await ask({ prompt: 'sandbox:empty' })
    expect(malformed.text).to.match(/^<html>/)
    expect({ status: empty.status, text: empty.text }).to.deep.equal({ status: 200, text: '' })
  })

  it('resets the connection before the answer', async () => {
    const { status, broken } = await ask({ prompt: 'sandbox:reset' })
    expect(status).to.equal(undefined)
    expect(broken).to.be.a('string')
  })

  it('cuts a stream in the middle, without its end', async () => {
    const whole = await ask({ prompt: 'hello', stream: true })
    const { text, broken } = await ask({ prompt: 'sandbox:cut-stream', stream: true })
    expect(whole.text).to.include('[DONE]')
    expect(text).to.include('"content"').and.to.not.include('[DONE]')
    expect(text).to.not.include('"finish_reason":"stop"')
    expect(broken).to.be.a('string')
  })

  it('cuts an answer without a stream in the middle', async () => {
    const { text, broken } = await ask({ prompt: 'sandbox:cut-stream' })
    expect(() => JSON.parse(text)).to.throw(SyntaxError)
    expect(broken).to.be.a('string')
  })

  it('omits the token counts', async () => {
    const { usage } = await complete({ prompt: 'sandbox:no-usage' })
    const streamed = await stream({ prompt: 'sandbox:no-usage' })
    expect([usage, streamed.usage]).to.deep.equal([undefined, undefined])
    expect(streamed.text).to.include('[DONE]')
  })

  it('waits for the requested delay', async () => {
    const startedAt = performance.now()
    await ask({ prompt: 'sandbox:delay=60' })
    expect(performance.now() - startedAt).to.be.at.least(55)
  })
})
