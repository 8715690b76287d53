import { completion, refusal, streamed } from '../chat-answers.ts'
import { startGateway, type TestGateway } from '../gateway.ts'
import { postMessages } from '../mcp-client.ts'
import { ownKey, ownProvider, quickLimits } from '../own-endpoint.ts'
import { pixelFile } from '../pixel.ts'
import { startUpstream, type ScriptedAnswer, type Upstream } from '../upstream.ts'
import { startCollector, type Collector } from './collector.ts'

export const model = 'gpt-5-mini'
/** Span id in the `traceparent` header of each request. */
export const callerSpan = '00f067aa0ba902b7'
/** Values that must not appear in any exported byte. */
export const secrets = {
  prompt: 'what the prompt says',
  answer: 'what the answer says',
  picture: 'what the picture shows',
  token: 'the-key-of-the-collector',
  strangersKey: 'mag_live_nobody',
  query: 'x=y',
}

/** Calls of all kinds, each in its own trace, and the data that the collector received. */
export type TracedCalls = {
  collector: Collector
  /** Trace ids, by the kind of call. */
  ids: Readonly<Record<string, string>>
  /** The `traceparent` header of each request to a vendor. */
  traceparents: readonly string[]
  keys: readonly string[]
  firstUrl: string
  logText: string
  stop(): Promise<void>
}

type House = { first: Upstream; second: Upstream; gateway: TestGateway; traceparents: string[] }
type Headers = Record<string, string>

/** Makes the calls through a gateway, and stops it so that all data has been exported. */
export async function makeTracedCalls(protocol: string): Promise<TracedCalls> {
  const collector = await startCollector('/otlp')
  const [first, second] = [await startUpstream(), await startUpstream()]
  const gateway = await startGateway({
    variables: {
      OWN_API_KEY: ownKey,
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_HEADERS: `x-token=${secrets.token}`,
      OTEL_SERVICE_NAME: 'the gateway of a test',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    },
    file: {
      providers: [ownProvider('first', first), ownProvider('second', second)],
      routes: { [model]: ['first', 'second/other-name'] },
      limits: quickLimits,
    },
  })
  const traceparents: string[] = []
  const ids = await actAll({ first, second, gateway, traceparents })
  const keys = [gateway.testKey, gateway.liveKey, gateway.adminKey, ownKey]
  await gateway.stop()
  const stop = async () => {
    await first.stop()
    await second.stop()
    await collector.stop()
  }
  return {
    collector,
    ids,
    traceparents,
    keys,
    firstUrl: first.url,
    logText: gateway.logText(),
    stop,
  }
}

function newTrace(number: number, flags = '01') {
  const traceId = number.toString(16).padStart(32, 'a')
  return { traceId, headers: { traceparent: `00-${traceId}-${callerSpan}-${flags}` } }
}

async function actAll(house: House): Promise<Record<string, string>> {
  const { first, second, gateway, traceparents } = house
  const ids: Record<string, string> = {}
  const traced = async (
    name: string,
    act: (headers: Headers) => Promise<unknown>,
    flags?: string,
  ) => {
    const { traceId, headers } = newTrace(Object.keys(ids).length + 1, flags)
    ids[name] = traceId
    await act(headers)
  }
  /** Sets an upstream's answer. This clears the upstream's requests, so their headers are saved first. */
  const script = (upstream: Upstream, answer: ScriptedAnswer) => {
    for (const { headers } of upstream.requests) traceparents.push(String(headers['traceparent']))
    upstream.answer(answer)
  }
  script(first, completion(secrets.answer, { model: 'gpt-5-mini-2026' }))
  await traced('chat', (headers) => chat(house, { seed: 1 }, headers))
  await traced('cached', (headers) => chat(house, { seed: 1 }, headers))
  await traced('invalid', (headers) => chat(house, { temperature: 9 }, headers))
  await traced('unknown key', (headers) => chat(house, {}, headers, secrets.strangersKey))
  const limited = await gateway.createKey('live')
  await gateway.allow({ requests_per_minute: 1 }, limited)
  await chat(house, { seed: 2 }, {}, limited)
  await traced('limited', (headers) => chat(house, { seed: 3 }, headers, limited))
  await traced('made-up model', (headers) => chat(house, { model: 'first/made-up' }, headers))
  script(first, streamed(['what', ' the answer says']))
  await traced('stream', (headers) => chat(house, { stream: true }, headers))
  script(first, refusal(503))
  script(second, completion(secrets.answer))
  await traced('failover', (headers) => chat(house, { seed: 4 }, headers))
  script(second, refusal(503))
  await traced('failure', (headers) => chat(house, { seed: 5 }, headers))
  const pixels = Buffer.from(await pixelFile.arrayBuffer())
  script(first, { body: { created: 1, data: [{ b64_json: pixels.toString('base64') }] } })
  await traced('picture', (headers) => {
    const body = { model: 'first/draws', prompt: secrets.picture }
    return gateway.post('/v1/images/generations', body, { key: gateway.liveKey, headers })
  })
  script(first, { body: { data: [{ embedding: [1, 0] }], usage: { prompt_tokens: 3 } } })
  await traced('embedding', (headers) => {
    const body = { model: 'first/embeds', input: secrets.picture }
    return gateway.post('/v1/embeddings', body, { key: gateway.liveKey, headers })
  })
  script(first, completion(secrets.answer))
  const own = newTrace(999)
  ids['tool of its own'] = own.traceId
  await traced('tool', (headers) => callTools(gateway, headers, own.headers))
  await traced('page', (headers) =>
    gateway.fetch(`/v1/models/openai/gpt-5-mini?${secrets.query}`, { headers }),
  )
  await traced('nowhere', (headers) => gateway.fetch('/nowhere/secret', { headers }))
  for (const path of ['/health', '/ready', '/metrics'])
    await traced(path, (headers) => gateway.fetch(path, { headers }))
  await traced('not sampled', (headers) => chat(house, { seed: 6 }, headers), '00')
  await chat(house, { seed: 7 }, { traceparent: `00-${'0'.repeat(32)}-${callerSpan}-01` })
  for (const upstream of [first, second]) script(upstream, {})
  return ids
}

async function chat({ gateway }: House, body: object, headers: Headers, key = gateway.liveKey) {
  const messages = [{ role: 'user', content: secrets.prompt }]
  const init = { key, headers }
  const answer = await gateway.post('/v1/chat/completions', { model, messages, ...body }, init)
  await answer.text()
}

/** Calls a tool in the trace of the HTTP request, then in the trace of `_meta`, then with a failure. */
async function callTools(gateway: TestGateway, headers: Headers, own: Headers): Promise<void> {
  const messages = [{ role: 'user', content: `${secrets.prompt}, and more` }]
  const call = (id: number, meta: Headers, name = 'chat') => {
    const given = { model, messages, temperature: id / 10 }
    const params = { name, arguments: given, _meta: meta }
    return { jsonrpc: '2.0', id, method: 'tools/call', params }
  }
  const batch = [call(1, {}), call(2, own), call(9, {}, 'generate-image')]
  await postMessages(gateway, batch, { key: gateway.liveKey, headers })
}
