/** Messages of OTLP that a collector accepts (opentelemetry-proto): field number, name, type. */
type Field = readonly [name: string, type: FieldType, isList?: 'list']
export type FieldType =
  | 'string'
  | 'bool'
  | 'bytes'
  | 'int'
  | 'fixed32'
  | 'fixed64'
  | 'double'
  | 'float'
  | keyof typeof messages
export type Message = Readonly<Record<number, Field>>

const times = {
  2: ['startTimeUnixNano', 'fixed64'],
  3: ['timeUnixNano', 'fixed64'],
} as const

export const messages = {
  ExportTraceServiceRequest: { 1: ['resourceSpans', 'ResourceSpans', 'list'] },
  ResourceSpans: {
    1: ['resource', 'Resource'],
    2: ['scopeSpans', 'ScopeSpans', 'list'],
    3: ['schemaUrl', 'string'],
  },
  Resource: {
    1: ['attributes', 'KeyValue', 'list'],
    2: ['droppedAttributesCount', 'int'],
  },
  ScopeSpans: {
    1: ['scope', 'Scope'],
    2: ['spans', 'Span', 'list'],
    3: ['schemaUrl', 'string'],
  },
  Scope: {
    1: ['name', 'string'],
    2: ['version', 'string'],
    3: ['attributes', 'KeyValue', 'list'],
    4: ['droppedAttributesCount', 'int'],
  },
  Span: {
    1: ['traceId', 'bytes'],
    2: ['spanId', 'bytes'],
    3: ['traceState', 'string'],
    4: ['parentSpanId', 'bytes'],
    5: ['name', 'string'],
    6: ['kind', 'int'],
    7: ['startTimeUnixNano', 'fixed64'],
    8: ['endTimeUnixNano', 'fixed64'],
    9: ['attributes', 'KeyValue', 'list'],
    10: ['droppedAttributesCount', 'int'],
    11: ['events', 'Event', 'list'],
    12: ['droppedEventsCount', 'int'],
    13: ['links', 'Link', 'list'],
    14: ['droppedLinksCount', 'int'],
    15: ['status', 'Status'],
    16: ['flags', 'fixed32'],
  },
  Event: {
    1: ['timeUnixNano', 'fixed64'],
    2: ['name', 'string'],
    3: ['attributes', 'KeyValue', 'list'],
    4: ['droppedAttributesCount', 'int'],
  },
  Link: {
    1: ['traceId', 'bytes'],
    2: ['spanId', 'bytes'],
    3: ['traceState', 'string'],
    4: ['attributes', 'KeyValue', 'list'],
    5: ['droppedAttributesCount', 'int'],
    6: ['flags', 'fixed32'],
  },
  Status: { 2: ['message', 'string'], 3: ['code', 'int'] },
  KeyValue: { 1: ['key', 'string'], 2: ['value', 'AnyValue'] },
  AnyValue: {
    1: ['stringValue', 'string'],
    2: ['boolValue', 'bool'],
    3: ['intValue', 'int'],
    4: ['doubleValue', 'double'],
    5: ['arrayValue', 'ArrayValue'],
  },
  ArrayValue: { 1: ['values', 'AnyValue', 'list'] },
  ExportMetricsServiceRequest: { 1: ['resourceMetrics', 'ResourceMetrics', 'list'] },
  ResourceMetrics: {
    1: ['resource', 'Resource'],
    2: ['scopeMetrics', 'ScopeMetrics', 'list'],
    3: ['schemaUrl', 'string'],
  },
  ScopeMetrics: {
    1: ['scope', 'Scope'],
    2: ['metrics', 'Metric', 'list'],
    3: ['schemaUrl', 'string'],
  },
  Metric: {
    1: ['name', 'string'],
    2: ['description', 'string'],
    3: ['unit', 'string'],
    5: ['gauge', 'Gauge'],
    7: ['sum', 'Sum'],
    9: ['histogram', 'Histogram'],
  },
  Gauge: { 1: ['dataPoints', 'NumberPoint', 'list'] },
  Sum: {
    1: ['dataPoints', 'NumberPoint', 'list'],
    2: ['aggregationTemporality', 'int'],
    3: ['isMonotonic', 'bool'],
  },
  Histogram: {
    1: ['dataPoints', 'HistogramPoint', 'list'],
    2: ['aggregationTemporality', 'int'],
  },
  NumberPoint: {
    7: ['attributes', 'KeyValue', 'list'],
    ...times,
    4: ['asDouble', 'double'],
    6: ['asInt', 'fixed64'],
    8: ['flags', 'int'],
  },
  HistogramPoint: {
    9: ['attributes', 'KeyValue', 'list'],
    ...times,
    4: ['count', 'fixed64'],
    5: ['sum', 'double'],
    6: ['bucketCounts', 'fixed64', 'list'],
    7: ['explicitBounds', 'double', 'list'],
    10: ['flags', 'int'],
    11: ['min', 'double'],
    12: ['max', 'double'],
  },
} as const satisfies Record<string, Record<number, readonly [string, string, 'list'?]>>
