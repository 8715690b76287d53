import { expect } from 'chai'
import type { Bounds } from '../../src/settings/bounds.ts'
import { completion, textChunk } from '../support/chat-answers.ts'
import { startCollector, type Collector } from '../support/collector/collector.ts'
import { makeFolder } from '../support/folder.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { startServer } from '../support/server-process.ts'
import { until } from '../support/until.ts'

const freePortOfNobody = 'http://127.0.0.1:9'

type Settings = { bounds?: Partial<Bounds>; variables?: Record<string, string> }

/** A gateway that exports to this URL. */
async function start(
  url: string,
  { bounds = {}, variables = {} }: Settings = {},
): Promise<OwnEndpoint> {
  const own = await startOwnEndpoint({
    bounds: { telemetryFlushTimeoutMs: 100, ...bounds },
    variables: { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...variables },
  })
  own.upstream.answer(completion('Hello.'))
  return own
}

async function dropped({ gateway }: OwnEndpoint, reason: string): Promise<number> {
  const text = await (await gateway.fetch('/metrics')).text()
  const [, count = '0'] =
    new RegExp(`spans_dropped_total\\{reason="${reason}"\\} (\\d+)`).exec(text) ?? []
  return Number(count)
}

function linesOf({ gateway }: OwnEndpoint, text: string): string[] {
  return gateway
    .logText()
    .split('\n')
    .filter((line) => line.includes(`"${text}"`))
}

describe('a failing collector', () => {
  let collector: Collector
  beforeEach(async () => (collector = await startCollector()))
  afterEach(() => collector.stop())

  for (const behaviour of ['hangs', 'breaks', 'refuses'] as const) {
    it(`that ${behaviour} does not delay callers, and delays the stop at most by its limit`, async () => {
      collector.behave(behaviour)
      const own = await start(collector.url)
      for (let turn = 0; turn < 20; turn++) {
        expect((await own.chat({ seed: turn })).status).to.equal(200)
      }
      const begunAt = performance.now()
      await own.stop()
      expect(performance.now() - begunAt).to.be.below(3000)
      // Waits, because the last export may still be running.
      await until('it was tried', () => collector.exports() > 0)
    })
  }

  it('that is unreachable is logged once, and once more when it is back', async () => {
    collector.behave('refuses')
    await using own = await start(collector.url, {
      variables: { OTEL_METRIC_EXPORT_INTERVAL: '100' },
    })
    await own.chat()
    await until('logged', () => linesOf(own, 'export failed').length > 0)
    const exports = collector.exports()
    await until('tried again', () => collector.exports() > exports + 2)
    const lines = linesOf(own, 'export failed').map(
      (line) => JSON.parse(line) as { signal: string },
    )
    expect(new Set(lines.map(({ signal }) => signal))).to.have.length(lines.length)
    expect(lines.map((line) => ({ ...line, time: '' }))).to.deep.include({
      level: 'warn',
      time: '',
      signal: 'metrics',
      code: 401,
      msg: 'export failed',
    })
    collector.behave('takes')
    await until('well again', () => linesOf(own, 'export works again').length > 0)
    expect(own.gateway.logText()).to.not.contain('sesame')
  })

  it('loses the spans that it refused, which are counted', async () => {
    collector.behave('refuses')
    await using own = await start(collector.url)
    await own.chat()
    await until('counted', async () => (await dropped(own, 'export_failed')) === 2)
  })

  it('has a limited queue of spans', async () => {
    collector.behave('hangs')
    await using own = await start(collector.url, { bounds: { telemetrySpansMax: 4 } })
    // Each call has two spans. Four spans are being sent, four wait, and the others are dropped.
    for (let turn = 0; turn < 10; turn++) await own.chat({ seed: turn })
    expect(await dropped(own, 'queue_full')).to.equal(20 - 4 - 4)
  })

  it('at an unreachable address fails no call', async () => {
    const own = await start(freePortOfNobody)
    expect((await own.chat()).status).to.equal(200)
    await own.stop()
  })
})

describe('the spans of a call', () => {
  let collector: Collector
  beforeEach(async () => (collector = await startCollector()))
  afterEach(() => collector.stop())

  it('end with the call when its caller disconnects', async () => {
    const own = await start(collector.url, { bounds: { telemetryFlushTimeoutMs: 3000 } })
    own.upstream.answer({ pieces: [textChunk('Hello')], hang: true })
    const leaving = new AbortController()
    const answer = await own.chat({ stream: true }, { signal: leaving.signal })
    await answer.body!.getReader().read()
    leaving.abort()
    await until('recorded', async () => (await own.gateway.usage()).length > 0)
    await own.stop()
    const [server, client] = collector.spans.toSorted((a, b) => a.kind - b.kind)
    expect(client).to.deep.include({ parentSpanId: server!.spanId, status: 0 })
    expect(client!.attributes).to.include({ 'error.type': 'cancelled' })
    expect(server!.attributes).to.include({
      'error.type': 'cancelled',
      'gateway.outcome': 'cancelled',
    })
    expect(server!.attributes).to.not.have.any.keys('http.response.status_code')
  })

  const instance = { OTEL_RESOURCE_ATTRIBUTES: 'service.instance.id=pod-1' }
  it('have the configured name of the instance', async () => {
    const own = await start(collector.url, {
      variables: instance,
      bounds: { telemetryFlushTimeoutMs: 3000 },
    })
    await own.chat()
    await own.stop()
    expect(collector.resources[0]).to.include({ 'service.instance.id': 'pod-1' })
  })

  const samplers: [string, string, string, number][] = [
    ['always_off', '1', '01', 0],
    ['always_on', '1', '00', 2],
    ['parentbased_always_off', '1', '01', 2],
    ['traceidratio', '0', '01', 0],
    ['parentbased_traceidratio', '0', '01', 2],
  ]
  for (const [sampler, share, flags, spans] of samplers) {
    it(`are ${spans} with ${sampler}, of a trace with the flags ${flags}`, async () => {
      const own = await start(collector.url, {
        bounds: { telemetryFlushTimeoutMs: 3000 },
        variables: { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: share },
      })
      const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-${flags}`
      await own.chat({}, { headers: { traceparent, tracestate: 'rojo=1' } })
      const [{ headers }] = own.upstream.requests as [(typeof own.upstream.requests)[0]]
      expect(headers['traceparent']).to.match(
        new RegExp(`^00-${'ab'.repeat(16)}-.{16}-0${spans === 0 ? 0 : 1}$`),
      )
      expect(headers['tracestate']).to.equal('rojo=1')
      await own.stop()
      expect(collector.spans).to.have.length(spans)
    })
  }

  for (const [TRACE_CONTEXT, isTaken] of [
    ['taken', true],
    ['ignored', false],
  ] as const) {
    it(`are not propagated to vendors with TRACE_CONTEXT=${TRACE_CONTEXT}`, async () => {
      const own = await start(collector.url, {
        bounds: { telemetryFlushTimeoutMs: 3000 },
        variables: { TRACE_CONTEXT },
      })
      const traceId = 'ab'.repeat(16)
      await own.chat({}, { headers: { traceparent: `00-${traceId}-${'cd'.repeat(8)}-01` } })
      expect(own.upstream.requests[0]!.headers).to.not.have.any.keys('traceparent', 'tracestate')
      await own.stop()
      expect(collector.spans.map((span) => span.traceId === traceId)).to.deep.equal([
        isTaken,
        isTaken,
      ])
    })
  }
})

describe('a gateway as a separate process', () => {
  const tellsModules = `import { registerHooks } from 'node:module'
    registerHooks({ load: (url, context, next) => {
      if (url.includes('@opentelemetry')) process.stderr.write('LOADED ' + url + '\\n')
      return next(url, context)
    } })`
  const words = ['--import', `data:text/javascript,${encodeURIComponent(tellsModules)}`]

  for (const [name, more] of [
    ['without a collector', {}],
    [
      'with a collector, when it is disabled',
      { OTEL_EXPORTER_OTLP_ENDPOINT: freePortOfNobody, OTEL_SDK_DISABLED: 'true' },
    ],
  ] as const) {
    it(`loads nothing of OpenTelemetry ${name}`, async () => {
      const folder = makeFolder()
      const program = await startServer({ folder: folder.path, words, variables: more })
      await fetch(`${program.url}/health`)
      program.kill('SIGTERM')
      await program.ended
      // Allows the API package, which the metrics library depends on and which does nothing by itself.
      expect(program.stderr()).to.not.match(/LOADED .*@opentelemetry\/(?!api\/)/)
      folder.remove()
    })
  }

  it('sends the remaining spans when it stops', async () => {
    const collector = await startCollector()
    const folder = makeFolder()
    const program = await startServer({
      folder: folder.path,
      words,
      variables: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    })
    await fetch(`${program.url}/v1/models`)
    program.kill('SIGTERM')
    await program.ended
    expect(program.stderr()).to.contain('LOADED')
    expect(collector.spans.map(({ name }) => name)).to.deep.equal(['GET /v1/models'])
    expect(collector.metricNames()).to.include('http.server.request.duration')
    await collector.stop()
    folder.remove()
  })
})
