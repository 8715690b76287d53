import { expect } from 'chai'
import type { SeenPoint } from '../support/collector/collector.ts'
import { makeTracedCalls, model, type TracedCalls } from '../support/collector/traced-calls.ts'

describe('metrics over OTLP', () => {
  let calls: TracedCalls
  before(async () => (calls = await makeTracedCalls('http/protobuf')))
  after(() => calls.stop())

  const pointsOf = (name: string, attributes: object): SeenPoint[] =>
    (calls.collector.metric(name)?.points ?? []).filter((point) =>
      Object.entries(attributes).every(([key, value]) => point.attributes[key] === value),
    )
  const countOf = (name: string, attributes: object) =>
    pointsOf(name, attributes).reduce((sum, { count = 0 }) => sum + count, 0)

  it('label models of the catalog, and all others as one', () => {
    const models = calls.collector
      .metric('gen_ai.client.operation.duration')!
      .points.map(({ attributes }) => attributes['gen_ai.request.model'])
    expect(new Set(models)).to.deep.equal(new Set([model, '_OTHER']))
  })

  it('count durations and tokens of each try', () => {
    const failed = { 'gen_ai.provider.name': 'first', 'error.type': 'overloaded' }
    expect(countOf('gen_ai.client.operation.duration', failed)).to.equal(2)
    const input = pointsOf('gen_ai.client.token.usage', {
      'gen_ai.token.type': 'input',
      'gen_ai.provider.name': 'second',
    })
    expect(input.map(({ value, count }) => ({ value, count }))).to.deep.equal([
      { value: 9, count: 1 },
    ])
    expect(calls.collector.metric('gen_ai.client.token.usage')!.unit).to.equal('{token}')
  })

  it('include the values of /metrics', () => {
    expect(calls.collector.metric('gateway_upstream_attempts_total')!.points).to.deep.include({
      attributes: { provider: 'second', outcome: 'ok' },
      value: 1,
    })
    const durations = calls.collector.metric('gateway_request_duration_seconds')!.points
    for (const { count, counts = [] } of durations) {
      expect(counts.reduce((sum, one) => sum + one, 0)).to.equal(count)
    }
    expect(calls.collector.metricNames().filter((name) => name.startsWith('node'))).to.deep.equal(
      [],
    )
  })

  it('count requests that are not traced, and label the routes', () => {
    const chats = { 'http.route': '/v1/chat/completions', 'http.response.status_code': 200 }
    expect(countOf('http.server.request.duration', chats)).to.equal(8)
    const routes = calls.collector
      .metric('http.server.request.duration')!
      .points.map(({ attributes }) => attributes['http.route'])
    expect(new Set(routes)).to.deep.equal(
      new Set([
        '/v1/chat/completions',
        '/v1/embeddings',
        '/v1/images/generations',
        '/v1/models/{model}',
        '/mcp',
        undefined,
      ]),
    )
  })

  it('count refusals, streams and tools', () => {
    const refused = { 'http.response.status_code': 429, 'error.type': 'rate_limit_exceeded' }
    expect(countOf('http.server.request.duration', refused)).to.equal(1)
    expect(countOf('gen_ai.client.operation.time_to_first_chunk', {})).to.equal(1)
    expect(countOf('gen_ai.server.time_to_first_token', {})).to.equal(1)
    expect(countOf('mcp.server.operation.duration', { 'gen_ai.tool.name': 'chat' })).to.equal(2)
  })
})
