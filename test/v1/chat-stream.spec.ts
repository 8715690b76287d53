import { expect } from 'chai'
import {
  chunk,
  doneEvent,
  finishChunk,
  refusal,
  streamed,
  textChunk,
  usageChunk,
} from '../support/chat-answers.ts'
import { readChunks, readEvents, readText } from '../support/event-stream.ts'
import { expectError } from '../support/expect-error.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'

const counts = { prompt_tokens: 9, completion_tokens: 4 }
const counted = { input_tokens: 9, output_tokens: 4, cost_status: 'unknown' }
const withUsage = { stream: true, stream_options: { include_usage: true } }
const fresh = { 'cache-control': 'no-store' }

describe('a streamed answer', () => {
  let own: OwnEndpoint
  before(async () => {
    own = await startOwnEndpoint({
      limits: { ping_interval_ms: 100, chat_timeout_ms: 3000 },
      bounds: { upstreamEndTimeoutMs: 50 },
    })
  })
  after(() => own.stop())
  const ask = (body: object = withUsage, init: RequestInit = {}) =>
    own.chat(body, { ...init, headers: fresh })
  const lastRow = async () => (await own.gateway.usage()).at(-1)!

  it('has the headers of an event stream, and ends with [DONE]', async () => {
    own.upstream.answer(streamed(['one ', 'two']))
    const response = await ask()
    expect(response.headers.get('content-type')).to.equal('text/event-stream; charset=utf-8')
    expect(response.headers.get('cache-control')).to.equal('no-cache, no-transform')
    expect(response.headers.get('x-accel-buffering')).to.equal('no')
    const text = await response.text()
    expect(readText(text)).to.equal('one two')
    expect(text.endsWith('data: [DONE]\n\n')).to.equal(true)
    expect(text).not.to.match(/^id:/m)
  })

  const oddities: { name: string; pieces: string[]; row?: object }[] = [
    {
      name: 'with CRLF line ends',
      pieces: [textChunk('one '), textChunk('two'), finishChunk(), usageChunk(), doneEvent].map(
        (event) => event.replaceAll('\n', '\r\n'),
      ),
    },
    {
      name: 'with comments between the events',
      pieces: [
        ': processing\n\n',
        textChunk('one '),
        ': still there\n\n',
        textChunk('two'),
        finishChunk(),
        usageChunk(),
        doneEvent,
      ],
    },
    {
      name: 'with no space after `data:`',
      pieces: [textChunk('one '), textChunk('two'), finishChunk(), usageChunk(), doneEvent].map(
        (event) => event.replace('data: ', 'data:'),
      ),
    },
    {
      name: 'with `usage: null` in every chunk',
      pieces: [
        textChunk('one ', { usage: null }),
        textChunk('two', { usage: null }),
        finishChunk('stop', { usage: null }),
        usageChunk(),
        doneEvent,
      ],
    },
    {
      name: 'with the counts in the last chunk of text',
      pieces: [
        textChunk('one '),
        textChunk('two'),
        finishChunk('stop', { usage: counts }),
        doneEvent,
      ],
    },
    {
      name: 'with counts that grow in every chunk',
      pieces: [
        textChunk('one ', { usage: { prompt_tokens: 9, completion_tokens: 1 } }),
        textChunk('two', { usage: { prompt_tokens: 9, completion_tokens: 2 } }),
        finishChunk('stop', { usage: counts }),
        doneEvent,
      ],
    },
    {
      name: 'without [DONE]',
      pieces: [textChunk('one '), textChunk('two'), finishChunk(), usageChunk()],
    },
    {
      name: 'without [DONE] and without the last empty line',
      pieces: [textChunk('one '), textChunk('two'), finishChunk(), usageChunk().trimEnd()],
    },
    {
      name: 'without any counts, which are estimated then',
      pieces: [textChunk('one '), textChunk('two'), finishChunk(), doneEvent],
      // Estimates for "hello" and "one two", at four characters per token.
      row: { input_tokens: 2, output_tokens: 2, cost_status: 'unknown' },
    },
    {
      name: 'of a tool call without any counts',
      pieces: [
        textChunk('one '),
        chunk({
          choices: [
            {
              index: 0,
              delta: {
                content: 'two',
                tool_calls: [{ index: 0, function: { name: 'forecast', arguments: '{"a":123}' } }],
              },
            },
          ],
        }),
        finishChunk('tool_calls'),
        doneEvent,
      ],
      row: { input_tokens: 2, output_tokens: 6 },
    },
    {
      name: 'that arrives in one chunk',
      pieces: [textChunk('one ') + textChunk('two') + finishChunk() + usageChunk() + doneEvent],
    },
  ]
  for (const { name, pieces, row = counted } of oddities) {
    it(`is correct for a provider's stream ${name}`, async () => {
      own.upstream.answer({ pieces })
      const text = await (await ask()).text()
      const chunks = readChunks(text)
      expect(readText(text)).to.equal('one two')
      expect(readEvents(text).filter(({ data }) => data === '[DONE]')).to.have.length(1)
      expect(chunks.map(({ usage }) => Boolean(usage)).lastIndexOf(true)).to.equal(
        chunks.length - 1,
      )
      expect(chunks.filter(({ usage }) => usage)).to.have.length(1)
      expect(await lastRow()).to.include({ outcome: 'ok', ...row })
    })
  }

  it('ends at the end mark of the provider, though its connection stays open', async () => {
    own.upstream.answer({
      pieces: [textChunk('one'), finishChunk(), usageChunk(), doneEvent],
      hang: true,
    })
    const text = await (await ask()).text()
    expect(readText(text)).to.equal('one')
    expect(text.endsWith(doneEvent)).to.equal(true)
    expect(await lastRow()).to.include({ outcome: 'ok' })
    // The connection must close, because open connections would exhaust the pool.
    await own.upstream.requests[0]!.closed
    expect(own.upstream.requests[0]!.aborted).to.equal(true)
  })

  it('passes on several choices and unknown members', async () => {
    const choice = (index: number) => ({
      index,
      delta: { role: 'assistant', content: 'x', weight: 0.5 },
      finish_reason: null,
    })
    const pieces = [chunk({ choices: [choice(0)] }), chunk({ choices: [choice(1)], tag: 'own' })]
    own.upstream.answer({ pieces: [...pieces, finishChunk(), doneEvent] })
    const text = await (await ask({ stream: true, n: 2 })).text()
    const chunks = readChunks(text)
    expect(chunks[0]!.choices).to.deep.equal([choice(0)])
    expect(chunks[1]).to.deep.include({ choices: [choice(1)], tag: 'own' })
  })

  const breaks: { name: string; pieces: string[]; reset?: 'after'; code?: string }[] = [
    { name: 'the provider cuts the connection', pieces: [textChunk('one ')], reset: 'after' },
    { name: 'the provider ends in the middle of its text', pieces: [textChunk('one ')] },
    {
      name: 'the provider ends in the middle of an event',
      pieces: [textChunk('one '), 'data: {"id"'],
    },
    {
      name: 'the provider reports an error',
      pieces: [textChunk('one '), 'data: {"error":{"message":"overloaded","code":503}}\n\n'],
    },
    {
      name: 'the provider reports an error in the last chunk',
      pieces: [`${textChunk('one ')}data: {"error":{"message":"too much","code":429}}\n\n`],
      code: 'rate_limit_exceeded',
    },
  ]
  for (const { name, pieces, reset, code = 'provider_error' } of breaks) {
    it(`ends with an error event and without [DONE] when ${name}`, async () => {
      own.upstream.answer({ pieces, ...(reset === undefined ? {} : { reset }) })
      const response = await ask()
      const events = readEvents(await response.text())
      const { error } = JSON.parse(events.at(-1)!.data!) as { error: object }
      expect(response.status).to.equal(200)
      expect(events.at(-1)!.name).to.equal('error')
      expect(error).to.include({ code, param: null })
      expect(Object.keys(error)).to.have.members(['message', 'type', 'param', 'code', 'request_id'])
      expect(events.map(({ data }) => data)).not.to.include('[DONE]')
      expect(await lastRow()).to.include({ outcome: 'failed', error_code: code, output_tokens: 1 })
    })
  }

  const firsts: { name: string; pieces: string[]; status: number; code: string }[] = [
    {
      name: 'is an error',
      pieces: ['data: {"error":{"message":"no","code":429}}\n\n'],
      status: 429,
      code: 'rate_limit_exceeded',
    },
    {
      name: 'is an error in two pieces',
      pieces: ['data: {"err', 'or":{"message":"no","code":"content_filter"}}\n\n'],
      status: 400,
      code: 'content_policy_violation',
    },
    {
      name: 'is an error after a comment',
      pieces: [': processing\n\n', 'data: {"error":"no"}\n\n'],
      status: 502,
      code: 'provider_error',
    },
    { name: 'never arrives', pieces: [': processing\n\n'], status: 502, code: 'provider_error' },
    { name: 'is missing', pieces: [], status: 502, code: 'provider_error' },
  ]
  for (const { name, pieces, status, code } of firsts) {
    it(`is an error response with ${status} when the first event ${name}`, async () => {
      own.upstream.answer({ pieces })
      await expectError(await ask(), { status, code })
    })
  }

  it("has the status of the provider's refusal", async () => {
    own.upstream.answer(refusal(400))
    await expectError(await ask(), { status: 400, code: 'invalid_value' })
  })

  it('keeps the connection alive with comments while the provider is silent', async () => {
    const more = Promise.withResolvers<void>()
    async function* pieces(): AsyncGenerator<string> {
      yield textChunk('one ')
      await more.promise
      yield* [textChunk('two'), finishChunk(), usageChunk(), doneEvent]
    }
    own.upstream.answer({ pieces: pieces() })
    let text = ''
    for await (const piece of (await ask()).body!) {
      text += Buffer.from(piece).toString()
      if (text.includes(': ping\n\n')) more.resolve()
    }
    expect(readEvents(text).filter(({ comment }) => comment === 'ping')).not.to.be.empty
    expect(readText(text)).to.equal('one two')
  })

  it('ends with a timeout when the provider stops sending', async () => {
    await using slow = await startOwnEndpoint({ limits: { upstream_idle_timeout_ms: 200 } })
    slow.upstream.answer({ pieces: [textChunk('one ')], hang: true })
    const events = readEvents(await (await slow.chat(withUsage)).text())
    expect(events.at(-1)).to.include({ name: 'error' })
    expect(events.at(-1)!.data).to.contain('"timeout_error"')
  })

  it('closes the request to the provider when the caller disconnects', async () => {
    own.upstream.answer({ pieces: [textChunk('12345678'), textChunk('90')], hang: true })
    const leaving = new AbortController()
    const response = await ask(withUsage, { signal: leaving.signal })
    await response.body!.getReader().read()
    const leftAt = performance.now()
    leaving.abort()
    const [request] = own.upstream.requests
    await request!.closed
    expect(performance.now() - leftAt).to.be.lessThan(5000)
    expect(request!.aborted).to.equal(true)
    await until('there is a row', async () => (await lastRow()).outcome === 'cancelled')
    const row = await lastRow()
    expect(row.output_tokens).to.be.within(2, 3)
    expect(row).to.include({ provider: 'own', input_tokens: 2 })
  })
})
