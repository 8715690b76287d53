import type { Meter } from '@opentelemetry/api'
import { metricName } from './names.ts'

/** The histograms of calls and requests; all durations are in seconds. */
export type Instruments = ReturnType<typeof createInstruments>

/** The bucket boundaries of the semantic conventions. */
const requestSeconds = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120, 300,
]
const operationSeconds = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84,
]
const chunkSeconds = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30,
]
const tokens = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216,
  67_108_864,
]

export function createInstruments(meter: Meter) {
  const seconds = (name: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { description, unit: 's', advice: { explicitBucketBoundaries } })
  return {
    requestDuration: seconds(
      metricName.requestDuration,
      'Duration of requests, to the end of the answer.',
      requestSeconds,
    ),
    operationDuration: seconds(
      metricName.operationDuration,
      'Duration of attempts on a provider, to the end of its answer.',
      operationSeconds,
    ),
    timeToFirstChunk: seconds(
      metricName.timeToFirstChunk,
      'Time from an attempt on a provider to the first event of its stream.',
      chunkSeconds,
    ),
    timeToFirstToken: seconds(
      metricName.timeToFirstToken,
      'Time from a request to the first event of its stream, including failed attempts.',
      chunkSeconds,
    ),
    toolDuration: seconds(metricName.toolDuration, 'Duration of tool calls.', requestSeconds),
    tokenUsage: meter.createHistogram(metricName.tokenUsage, {
      description: 'Tokens of calls that a provider answered.',
      unit: '{token}',
      advice: { explicitBucketBoundaries: tokens },
    }),
  }
}
