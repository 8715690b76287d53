import { expect } from 'chai'
import type { SeenSpan } from '../support/collector/collector.ts'
import {
  callerSpan,
  makeTracedCalls,
  model,
  secrets,
  type TracedCalls,
} from '../support/collector/traced-calls.ts'

const [server, client] = [2, 3]

for (const protocol of ['http/protobuf', 'http/json']) {
  describe(`traces over ${protocol}`, () => {
    let calls: TracedCalls
    before(async () => (calls = await makeTracedCalls(protocol)))
    after(() => calls.stop())

    const spansOf = (name: string): SeenSpan[] =>
      calls.collector.spans
        .filter(({ traceId }) => traceId === calls.ids[name])
        .toSorted((one, other) => one.kind - other.kind || one.startMs - other.startMs)
    const one = (name: string, kind: number): SeenSpan => {
      const found = spansOf(name).filter((span) => span.kind === kind)
      expect(found, name).to.have.length(1)
      return found[0]!
    }

    it('are valid OTLP, sent with the configured headers', () => {
      expect(calls.collector.complaints).to.deep.equal([])
      expect(calls.collector.headers.every((one) => one['x-token'] === secrets.token)).to.equal(
        true,
      )
      const [resource] = calls.collector.resources
      expect(resource).to.include({
        'service.name': 'the gateway of a test',
        'deployment.environment.name': 'test',
      })
      expect(resource!['service.instance.id']).to.match(/^[0-9a-f-]{36}$/)
      expect(
        calls.collector.resources.every(
          (one) => one['service.instance.id'] === resource!['service.instance.id'],
        ),
      ).to.equal(true)
    })

    it('contain no prompt, answer, key or query', () => {
      const bytes = calls.collector.bytes()
      const all = [...Object.values(secrets), ...calls.keys]
      expect(all.filter((text) => bytes.includes(text))).to.deep.equal([])
      expect(calls.logText).to.not.contain(secrets.token)
    })

    it('show a chat: the request below the span of its caller, and the try below it', () => {
      const [request, attempt] = [one('chat', server), one('chat', client)]
      expect(request).to.include({
        name: 'POST /v1/chat/completions',
        parentSpanId: callerSpan,
        status: 0,
      })
      expect(request.attributes).to.deep.include({
        'http.request.method': 'POST',
        'http.route': '/v1/chat/completions',
        'http.response.status_code': 200,
        'url.path': '/v1/chat/completions',
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'first',
        'gen_ai.request.model': model,
        'gen_ai.response.model': 'gpt-5-mini-2026',
        'gen_ai.response.id': 'chatcmpl-up',
        'gen_ai.response.finish_reasons': ['stop'],
        'gen_ai.usage.input_tokens': 9,
        'gen_ai.usage.output_tokens': 4,
        'gateway.cost_nano_usd': 9 * 250 + 4 * 2000,
        'gateway.cost_status': 'exact',
        'gateway.cache': 'miss',
        'gateway.mode': 'live',
        'gateway.outcome': 'ok',
      })
      for (const name of ['gateway.account_id', 'gateway.key_id', 'gateway.request_id']) {
        expect(request.attributes[name], name).to.be.a('string')
      }
      expect(attempt).to.include({ name: `chat ${model}`, parentSpanId: request.spanId, status: 0 })
      expect(attempt.attributes).to.deep.equal({
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'first',
        'gen_ai.request.model': model,
        'server.address': '127.0.0.1',
        'server.port': Number(new URL(calls.firstUrl).port),
      })
    })

    it('propagate the span of the try to the vendor', () => {
      const attempt = one('chat', client)
      expect(calls.traceparents).to.include(`00-${attempt.traceId}-${attempt.spanId}-01`)
      expect(calls.traceparents).to.have.length(new Set(calls.traceparents).size)
    })

    it('show a stream to its end, and the time of its first chunk', () => {
      const [request, attempt] = [one('stream', server), one('stream', client)]
      expect(attempt.attributes).to.include({ 'gen_ai.request.stream': true })
      expect(attempt.attributes['gen_ai.response.time_to_first_chunk']).to.be.within(0, 10)
      expect(request.attributes).to.deep.include({
        'gen_ai.response.finish_reasons': ['stop'],
        'gen_ai.response.id': 'chatcmpl-up',
        'gen_ai.usage.output_tokens': 4,
      })
    })

    it('show both tries of a failover below one request', () => {
      const request = one('failover', server)
      const attempts = spansOf('failover').filter(({ kind }) => kind === client)
      expect(attempts.map((span) => [span.name, span.parentSpanId, span.status])).to.deep.equal([
        [`chat ${model}`, request.spanId, 2],
        ['chat other-name', request.spanId, 0],
      ])
      expect(attempts[0]!.attributes).to.include({
        'error.type': 'overloaded',
        'http.response.status_code': 503,
      })
      expect(request.attributes).to.include({ 'gen_ai.provider.name': 'second' })
      for (const { spanId } of attempts) {
        expect(calls.traceparents).to.include(`00-${request.traceId}-${spanId}-01`)
      }
    })

    it('show a call that no provider answered', () => {
      const request = one('failure', server)
      expect(request.status).to.equal(2)
      expect(request.attributes).to.include({
        'http.response.status_code': 502,
        'error.type': 'all_providers_failed',
        'gateway.outcome': 'failed',
      })
      expect(spansOf('failure').filter(({ kind }) => kind === client)).to.have.length(2)
    })

    it('show a picture', () => {
      expect(one('picture', client)).to.include({ name: 'generate_content' })
      expect(one('picture', server).attributes).to.include({
        'gen_ai.operation.name': 'generate_content',
        'gen_ai.output.type': 'image',
        'gen_ai.request.model': 'first/draws',
        'gateway.images': 1,
      })
    })

    it('show embeddings', () => {
      expect(one('embedding', client)).to.include({ name: 'embeddings' })
      const { attributes } = one('embedding', server)
      expect(attributes).to.include({
        'gen_ai.operation.name': 'embeddings',
        'gen_ai.request.model': 'first/embeds',
        'gen_ai.usage.input_tokens': 3,
      })
      expect(attributes).to.not.have.property('gen_ai.output.type')
    })

    it('show the calls of tools, each in the trace that it names', () => {
      // Finds spans by name, because their order, that of their ends, varies.
      const spans = spansOf('tool').filter(({ kind }) => kind === server)
      const request = spans.find(({ name }) => name === 'POST /mcp')
      const tools = spans.filter((span) => span !== request)
      const [chatted, failed] = tools.toSorted((a, b) => a.name.localeCompare(b.name))
      expect(chatted).to.include({
        name: 'tools/call chat',
        parentSpanId: request!.spanId,
        status: 0,
      })
      expect(chatted!.attributes).to.include({
        'mcp.method.name': 'tools/call',
        'gen_ai.tool.name': 'chat',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.request.model': model,
        'gen_ai.usage.input_tokens': 9,
        'gateway.face': 'mcp',
      })
      expect(one('tool', client).parentSpanId).to.equal(chatted!.spanId)
      expect(failed).to.include({ name: 'tools/call generate-image', status: 2 })
      expect(failed!.attributes).to.include({ 'error.type': 'tool_error' })
      expect(failed!.attributes['gateway.error_code']).to.be.a('string')
      const own = one('tool of its own', server)
      expect(own).to.deep.include({
        parentSpanId: callerSpan,
        links: [{ traceId: request!.traceId, spanId: request!.spanId }],
      })
      expect(one('tool of its own', client).parentSpanId).to.equal(own.spanId)
    })

    it('show a cached answer without a try and without tokens', () => {
      expect(spansOf('cached')).to.have.length(1)
      const { attributes } = one('cached', server)
      expect(attributes).to.include({ 'gateway.cache': 'hit', 'gateway.cost_nano_usd': 0 })
      expect(attributes).to.not.have.any.keys('gen_ai.usage.input_tokens')
    })

    const refusals: [string, number, string][] = [
      ['invalid', 400, 'invalid_value'],
      ['unknown key', 401, 'invalid_api_key'],
      ['limited', 429, 'rate_limit_exceeded'],
    ]
    for (const [name, status, code] of refusals) {
      it(`show a refusal: ${status}`, () => {
        expect(spansOf(name)).to.have.length(1)
        const span = one(name, server)
        // The span has no error status, because a refusal is not a server error.
        expect(span.status).to.equal(0)
        expect(span.attributes).to.include({
          'http.response.status_code': status,
          'error.type': code,
        })
      })
    }

    it('name a request by its route, not by its path', () => {
      expect(one('page', server).name).to.equal('GET /v1/models/{model}')
      expect(one('nowhere', server).name).to.equal('GET')
      expect(one('made-up model', client).name).to.equal('chat')
    })

    it('omit the requests of monitoring', () => {
      for (const path of ['/health', '/ready', '/metrics'])
        expect(spansOf(path), path).to.deep.equal([])
    })

    it('omit requests that opt out of tracing, which are still counted', () => {
      expect(spansOf('not sampled')).to.deep.equal([])
      expect(
        calls.traceparents.filter((text) => text.startsWith(`00-${calls.ids['not sampled']}-`)),
      ).to.have.length(1)
      expect(calls.traceparents.some((text) => text.startsWith(`00-${'0'.repeat(32)}`))).to.equal(
        false,
      )
    })
  })
}
