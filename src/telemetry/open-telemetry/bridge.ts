import { ValueType, type Attributes, type HrTime } from '@opentelemetry/api'
import { emptyResource } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  DataPointType,
  type DataPoint,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics'

/** A metric with its series, in the form of prom-client. */
export type MetricFamily = {
  name: string
  help: string
  type: string
  values: { value: number; labels: Record<string, string | number>; metricName?: string }[]
}

/** Prefix of the gateway's own metrics; metrics of Node have other names in OpenTelemetry. */
const prefix = 'gateway_'

/** Passes the gateway's metrics of `/metrics` on to OpenTelemetry under the same names. */
export function createBridge(read: () => Promise<readonly MetricFamily[]>): MetricProducer {
  const startTime = hrTime(Date.now())
  return {
    collect: async () => {
      const endTime = hrTime(Date.now())
      const own = (await read()).filter(({ name }) => name.startsWith(prefix))
      const metrics = own.flatMap((family) => metricOf(family, { startTime, endTime }))
      const scopeMetrics = [{ scope: { name: 'gateway' }, metrics }]
      return { resourceMetrics: { resource: emptyResource(), scopeMetrics }, errors: [] }
    },
  }
}

type Times = { startTime: HrTime; endTime: HrTime }

function metricOf(family: MetricFamily, times: Times): MetricData[] {
  const { name, help: description, type, values } = family
  const descriptor = { name, description, unit: '', valueType: ValueType.DOUBLE }
  const aggregationTemporality = AggregationTemporality.CUMULATIVE
  const points = () =>
    values.map(({ value, labels }): DataPoint<number> => ({ ...times, attributes: labels, value }))
  const common = { descriptor, aggregationTemporality }
  if (type === 'gauge') {
    return [{ ...common, dataPointType: DataPointType.GAUGE, dataPoints: points() }]
  }
  if (type === 'counter') {
    const dataPoints = points()
    return [{ ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }]
  }
  const dataPoints = histograms(family).map(({ attributes, value }) => ({
    ...times,
    attributes,
    value,
  }))
  return [{ ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints }]
}

type Series = { attributes: Attributes; value: Histogram & { sum: number } }

/** The series of a histogram; the buckets of Prometheus are cumulative. */
function histograms({ name, values }: MetricFamily): Series[] {
  const series = new Map<string, Series>()
  const seriesOf = (labels: Attributes): Series => {
    const key = JSON.stringify(labels)
    const known = series.get(key) ?? {
      attributes: labels,
      value: { buckets: { boundaries: [], counts: [] }, sum: 0, count: 0 },
    }
    series.set(key, known)
    return known
  }
  for (const {
    metricName,
    labels: { le, ...labels },
    value: counted,
  } of values) {
    const { value } = seriesOf(labels)
    const { boundaries, counts } = value.buckets
    if (metricName === `${name}_sum`) value.sum = counted
    else if (metricName === `${name}_count`) value.count = counted
    else {
      if (le !== '+Inf') boundaries.push(Number(le))
      counts.push(counted - counts.reduce((sum, one) => sum + one, 0))
    }
  }
  return [...series.values()]
}

function hrTime(unixMs: number): HrTime {
  return [Math.trunc(unixMs / 1000), (unixMs % 1000) * 1e6]
}
