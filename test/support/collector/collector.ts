import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { checkJson, decodeProtobuf } from './decode.ts'
import type { messages } from './messages.ts'

type Value = string | number | boolean | Value[]
export type Attributes = Record<string, Value>

/** A span that the collector received. */
export type SeenSpan = {
  name: string
  /** Kind of the span in OTLP: 1 internal, 2 server, 3 client. */
  kind: number
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  traceState: string | undefined
  startMs: number
  endMs: number
  attributes: Attributes
  links: { traceId: string; spanId: string }[]
  /** Status code of the span in OTLP: 2 for an error. */
  status: number
}
export type SeenPoint = { attributes: Attributes; value: number; count?: number; counts?: number[] }
export type SeenMetric = { name: string; unit: string; points: SeenPoint[] }

/** How the collector answers. */
export type Behaviour = 'takes' | 'refuses' | 'hangs' | 'breaks'

/** An OpenTelemetry collector that refuses everything that violates OTLP. */
export type Collector = {
  url: string
  /** Received spans, in the order of arrival. */
  spans: SeenSpan[]
  resources: Attributes[]
  headers: IncomingHttpHeaders[]
  /** The last received state of a metric. */
  metric(name: string): SeenMetric | undefined
  metricNames(): string[]
  /** All received bytes. */
  bytes(): Buffer
  /** Errors in received messages. */
  complaints: string[]
  exports(): number
  behave(how: Behaviour): void
  stop(): Promise<void>
}

const signals: Readonly<Record<string, keyof typeof messages>> = {
  '/v1/traces': 'ExportTraceServiceRequest',
  '/v1/metrics': 'ExportMetricsServiceRequest',
}

/** Starts a collector on a free loopback port; its paths start with `path`. */
export async function startCollector(path = ''): Promise<Collector> {
  const spans: SeenSpan[] = []
  const metrics = new Map<string, SeenMetric>()
  const resources: Attributes[] = []
  const headers: IncomingHttpHeaders[] = []
  const complaints: string[] = []
  const pieces: Buffer[] = []
  let behaviour: Behaviour = 'takes'
  let exports = 0
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body: Buffer[] = []
    for await (const piece of request) body.push(piece as Buffer)
    const bytes = Buffer.concat(body)
    exports++
    pieces.push(bytes)
    headers.push(request.headers)
    if (behaviour === 'breaks') request.socket.destroy()
    if (behaviour === 'refuses') response.writeHead(401, 'sesame').end('sesame')
    if (behaviour !== 'takes') return
    try {
      const type = signals[(request.url ?? '').slice(path.length)]
      if (type === undefined || request.method !== 'POST') throw new Error(`${request.url}?`)
      const isJson = request.headers['content-type'] === 'application/json'
      if (!isJson && request.headers['content-type'] !== 'application/x-protobuf') {
        throw new Error('Unexpected media type.')
      }
      const message = isJson
        ? checkJson(JSON.parse(bytes.toString()), type)
        : decodeProtobuf(bytes, type)
      for (const { resource, scopeSpans = [], scopeMetrics = [] } of listIn(
        message,
        'resourceSpans',
        'resourceMetrics',
      )) {
        resources.push(attributesOf(resource))
        for (const one of scopeSpans) spans.push(...(one.spans ?? []).map(seenSpan))
        for (const one of scopeMetrics) {
          for (const metric of one.metrics ?? []) metrics.set(metric.name, seenMetric(metric))
        }
      }
      response
        .writeHead(200, { 'content-type': request.headers['content-type'] })
        .end(isJson ? '{}' : '')
    } catch (error) {
      complaints.push((error as Error).message)
      response.writeHead(400).end()
    }
  }
  const server = createServer((request, response) => {
    void take(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}${path}`,
    spans,
    resources,
    headers,
    metric: (name) => metrics.get(name),
    metricNames: () => [...metrics.keys()],
    bytes: () => Buffer.concat(pieces),
    complaints,
    exports: () => exports,
    behave: (how) => (behaviour = how),
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

// Members of decoded messages, as declared in `messages.ts`.
type Pair = { key: string; value: Record<string, unknown> }
type Point = {
  attributes?: Pair[]
  asDouble?: number
  asInt?: number
  sum?: number
  count?: number
  bucketCounts?: number[]
}
type Metric = { name: string; unit?: string } & Record<
  'gauge' | 'sum' | 'histogram',
  { dataPoints?: Point[] } | undefined
>
type Span = {
  name: string
  kind: number
  traceId: string
  spanId: string
  parentSpanId?: string
  traceState?: string
  startTimeUnixNano: number
  endTimeUnixNano: number
  attributes?: Pair[]
  links?: { traceId: string; spanId: string }[]
  status?: { code?: number }
}
type Batch = {
  resource: { attributes?: Pair[] }
  scopeSpans?: { spans?: Span[] }[]
  scopeMetrics?: { metrics?: Metric[] }[]
}

function listIn(message: Record<string, unknown>, ...names: string[]): Batch[] {
  return names.flatMap((name) => (message[name] ?? []) as Batch[])
}

function attributesOf({ attributes = [] }: { attributes?: Pair[] }): Attributes {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, anyValue(value)]))
}

function anyValue(value: Record<string, unknown>): Value {
  const [[name, given] = []] = Object.entries(value)
  if (name !== 'arrayValue') return given as Value
  return ((given as { values?: Record<string, unknown>[] }).values ?? []).map(anyValue)
}

function seenSpan(span: Span): SeenSpan {
  const { name, kind, traceId, spanId, parentSpanId, traceState, links = [], status } = span
  return {
    name,
    kind,
    traceId,
    spanId,
    traceState,
    parentSpanId: parentSpanId === '' ? undefined : parentSpanId,
    startMs: span.startTimeUnixNano / 1e6,
    endMs: span.endTimeUnixNano / 1e6,
    attributes: attributesOf(span),
    links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
    status: status?.code ?? 0,
  }
}

function seenMetric({ name, unit = '', gauge, sum, histogram }: Metric): SeenMetric {
  const points = (gauge ?? sum ?? histogram)?.dataPoints ?? []
  return {
    name,
    unit,
    points: points.map((point) => ({
      attributes: attributesOf(point),
      value: point.asDouble ?? point.asInt ?? point.sum ?? 0,
      ...(point.count === undefined ? {} : { count: point.count }),
      ...(point.bucketCounts === undefined ? {} : { counts: point.bucketCounts }),
    })),
  }
}
