import { expect } from 'chai'
import { answerComplaints, type Answer } from '../support/answers.ts'
import { anthropicClient } from '../support/anthropic-client.ts'
import { refusal, streamed } from '../support/chat-answers.ts'
import { readEvents, readText } from '../support/event-stream.ts'
import { expectError } from '../support/expect-error.ts'
import { suiteClock, type CallOptions } from '../support/gateway.ts'
import { openAiClient } from '../support/openai-client.ts'
import { hello, ownProvider, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { openConnection, postHead } from '../support/raw-connection.ts'
import { checkResponseEvents } from '../support/response-events.ts'
import { startUpstream, type ScriptedAnswer, type Upstream } from '../support/upstream.ts'
import { until } from '../support/until.ts'

const model = 'own/house-1'
const fresh = { 'cache-control': 'no-store' }
const apis = {
  createChatCompletion: {
    path: '/v1/chat/completions',
    body: { model, messages: hello, stream: true },
    ping: /^: ping$/gm,
  },
  createResponse: {
    path: '/v1/responses',
    body: { model, input: 'hello', stream: true },
    ping: /^event: (?:response\.created|keepalive)$/gm,
  },
  createMessage: {
    path: '/v1/messages',
    body: { model, max_tokens: 99, messages: hello, stream: true },
    ping: /^event: ping$/gm,
  },
}
type Api = keyof typeof apis
const names = Object.keys(apis) as Api[]

type LastEvent = {
  late_headers?: Record<string, string>
  error?: Record<string, unknown>
  code?: string
}

describe('a stream whose provider is silent', () => {
  let aheadMs = 0
  let own: OwnEndpoint
  let spare: Upstream
  before(async () => {
    spare = await startUpstream()
    own = await startOwnEndpoint({ clock: () => suiteClock() + aheadMs })
    own.gateway.rewrite({
      providers: [ownProvider('own', own.upstream), ownProvider('spare', spare)],
      limits: { route_tries_max: 1 },
    })
    expect((await own.gateway.reload()).status).to.equal(200)
  })
  after(async () => {
    await own.stop()
    await spare.stop()
  })

  /** The provider gives the answer after the returned function is called. */
  const answerLater = (answer: ScriptedAnswer = streamed(['one ', 'two'])) => {
    const gate = Promise.withResolvers<void>()
    own.upstream.answer({ ...answer, after: gate.promise })
    return gate.resolve
  }
  const asked = () => until('the provider is asked', () => own.upstream.requests.length === 1)
  const post = (name: Api, more: object = {}, init: CallOptions = {}) => {
    const { path, body } = apis[name]
    const { liveKey: key } = own.gateway
    const headers = { ...fresh, ...init.headers }
    return own.gateway.post(path, { ...body, ...more }, { key, ...init, headers })
  }
  /** A stream whose head was sent before its provider answered. */
  const silent = async (name: Api, more: object = {}, init: CallOptions = {}) => {
    const pending = post(name, more, init)
    await asked()
    aheadMs += 5000
    const response = await pending
    let text = ''
    const decoder = new TextDecoder()
    const ended = (async () => {
      for await (const piece of response.body!) text += decoder.decode(piece, { stream: true })
    })()
    const pings = () => text.match(apis[name].ping)?.length ?? 0
    return { response, ended, text: () => text, pings }
  }
  const wholeOf = async ({ response, ended, text }: Awaited<ReturnType<typeof silent>>) => {
    await ended
    const { status, headers } = response
    return { status, headers, text: text() } satisfies Answer
  }
  /** The data of the last event that is JSON and no mere end mark. */
  const lastOf = (text: string): LastEvent => {
    const data = readEvents(text).flatMap((event) => event.data ?? [])
    const last = data.findLast((one) => one !== '[DONE]' && one !== '{"type":"message_stop"}')
    return JSON.parse(last!) as LastEvent
  }

  for (const name of names) {
    it(`has a head after 5 s and a ping every 15 s, for 130 s: ${name}`, async () => {
      const release = answerLater()
      const stream = await silent(name)
      expect(stream.response.headers.get('content-type')).to.match(/^text\/event-stream/)
      expect(stream.response.headers.get('x-request-id')).to.match(/^req_/)
      expect(stream.response.headers.get('x-gateway-provider')).to.equal(null)
      for (let pings = 1; pings <= 9; pings++) {
        await until(`ping ${pings}`, () => stream.pings() === pings)
        aheadMs += 15_000
      }
      release()
      const answer = await wholeOf(stream)
      expect(answer.text).to.include('one ').and.to.include('two')
      expect(answerComplaints(name, answer)).to.deep.equal([])
      expect(lastOf(answer.text).late_headers).to.include({
        'x-gateway-model': model,
        'x-gateway-provider': 'own',
        'x-gateway-cache': 'bypass',
        'x-gateway-attempts': 'own=ok',
      })
      if (name === 'createResponse') checkResponseEvents(answer.text)
    })

    it(`is answered with a status if it fails before its head: ${name}`, async () => {
      const release = answerLater(refusal(500))
      const pending = post(name)
      await asked()
      aheadMs += 4000
      release()
      const response = await pending
      expect(response.status).to.equal(502)
      expect(response.headers.get('content-type')).to.equal('application/json')
    })

    it(`ends with an error event if it fails after its head: ${name}`, async () => {
      const release = answerLater(refusal(500))
      const stream = await silent(name)
      release()
      const { text, headers } = await wholeOf(stream)
      const last = lastOf(text)
      const requestId = headers.get('x-request-id')!
      if (name === 'createResponse') {
        const { types, response } = checkResponseEvents(text)
        expect(types.slice(-2)).to.deep.equal(['error', 'response.failed'])
        expect(response.error).to.include({ code: 'server_error' })
      } else {
        expect(last.late_headers).to.include({ 'x-gateway-attempts': 'own=overloaded' })
        expect(readEvents(text).at(-1)).to.include({ name: 'error' })
        const details = name === 'createMessage' ? last.error!['details'] : last.error
        expect(JSON.stringify(details)).to.include('provider_error')
        expect(text).not.to.include('[DONE]')
      }
      await until('the failure is logged', () => own.gateway.logText().includes(requestId))
      const lines = own.gateway.logText().split('\n')
      const line = lines.findLast((one) => one.includes(requestId) && one.includes('"status"'))!
      expect(JSON.parse(line)).to.include({ status: 502, code: 'provider_error' })
      const row = (await own.gateway.usage()).at(-1)!
      expect(row).to.include({ id: requestId, error_code: 'provider_error' })
    })
  }

  it('has late headers in the chunk with the finish reason, or with the usage that was requested', async () => {
    const choicesOf = async (more: object) => {
      const release = answerLater()
      const stream = await silent('createChatCompletion', more)
      release()
      const last = lastOf((await wholeOf(stream)).text) as LastEvent & { choices: unknown[] }
      expect(last.late_headers).to.have.property('x-gateway-provider', 'own')
      return last.choices
    }
    expect(await choicesOf({})).to.deep.equal([{ index: 0, delta: {}, finish_reason: 'stop' }])
    expect(await choicesOf({ stream_options: { include_usage: true } })).to.deep.equal([])
  })

  it('is no stream unless the request has `stream`', async () => {
    const release = answerLater({ body: {} })
    const answer = post('createChatCompletion', { stream: false })
    await asked()
    aheadMs += 60_000
    release()
    await expectError(await answer, { status: 502, code: 'provider_error' })
  })

  it('fails over during the silence', async () => {
    spare.answer(streamed(['spare']))
    const release = answerLater(refusal(503))
    const stream = await silent('createChatCompletion', { models: ['spare/house-1'] })
    release()
    const { text } = await wholeOf(stream)
    expect(readText(text)).to.equal('spare')
    expect(lastOf(text).late_headers).to.include({
      'x-gateway-model': 'spare/house-1',
      'x-gateway-attempts': 'own=overloaded, spare=ok',
    })
  })

  it('ends with an error event when its key is revoked', async () => {
    const key = await own.gateway.createKey('live', { row: { id: 'key_silent' } })
    answerLater()
    const stream = await silent('createMessage', {}, { key })
    await own.gateway.db
      .updateTable('api_keys')
      .set({ revoked_at: suiteClock() })
      .where('id', '=', 'key_silent')
      .execute()
    const { text } = await wholeOf(stream)
    expect(lastOf(text).error).to.include({ type: 'authentication_error' })
  })

  it('ends its call when the client leaves', async () => {
    answerLater()
    const leaving = new AbortController()
    const { response, ended } = await silent('createResponse', {}, { signal: leaving.signal })
    leaving.abort()
    await ended.catch(() => undefined)
    await until('the provider is left', () => own.upstream.requests[0]!.aborted)
    const id = response.headers.get('x-request-id')
    await until('the row is written', async () =>
      (await own.gateway.usage()).some((row) => row.id === id),
    )
  })

  it('leaves its connection to the next request', async () => {
    const release = answerLater()
    const socket = await openConnection(own.gateway.url)
    let text = ''
    socket.on('data', (piece: Buffer) => (text += piece.toString()))
    const request = (connection: string) => {
      const body = JSON.stringify(apis.createChatCompletion.body)
      const length = { 'content-length': String(body.length), connection, ...fresh }
      return postHead('/v1/chat/completions', own.gateway.liveKey, length) + body
    }
    socket.write(request('keep-alive') + request('close'))
    await asked()
    aheadMs += 5000
    await until('the first has its head', () => text.includes(': ping'))
    own.upstream.answer(refusal(500))
    release()
    await until('the second is answered', () => text.includes('provider_error'))
    expect(text).to.match(/^HTTP\/1\.1 200 [^]*one[^]*\[DONE\]\n\n\r\n0\r\n\r\nHTTP\/1\.1 502 /)
  })

  it('is replayed without its pings, and frees its key when it fails', async () => {
    const headers = { 'idempotency-key': 'silent-1' }
    const failing = answerLater(refusal(500))
    const failed = await silent('createChatCompletion', {}, { headers })
    failing()
    await wholeOf(failed)
    const release = answerLater()
    const stream = await silent('createChatCompletion', {}, { headers })
    release()
    const { text } = await wholeOf(stream)
    const replay = await post('createChatCompletion', {}, { headers })
    expect(replay.headers.get('idempotent-replayed')).to.equal('true')
    expect(await replay.text()).to.equal(text.replaceAll(': ping\n\n', ''))
  })

  it('is refused in strict mode at once', async () => {
    const response = await post(
      'createResponse',
      { mood: 'good' },
      { headers: { 'x-gateway-strict': 'true' } },
    )
    await expectError(response, { status: 400, code: 'unsupported_parameter', param: 'mood' })
  })

  for (const [what, answer, end] of [
    ['is read by', streamed(['one ', 'two']), /^one two$/],
    ['fails in', refusal(500), /The provider of this model failed/],
  ] as const) {
    it(`${what} the clients of OpenAI and Anthropic`, async () => {
      const { gateway } = own
      const { chat, responses } = openAiClient(gateway, gateway.liveKey)
      const { messages } = anthropicClient(gateway)
      const reads = [
        () => chat.completions.stream({ model, messages: hello }).finalContent(),
        async () => (await responses.stream({ model, input: 'hello' }).finalResponse()).output_text,
        () => messages.stream({ model, max_tokens: 99, messages: hello }).finalText(),
      ]
      for (const read of reads) {
        const release = answerLater(answer)
        const outcome = read().catch((error: Error) => error.message)
        await asked()
        for (let pings = 0; pings < 3; pings++) {
          aheadMs += 15_000
          await new Promise((resolve) => setTimeout(resolve, 150))
        }
        release()
        expect(await outcome).to.match(end)
      }
    })
  }
})
