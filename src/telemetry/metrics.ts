import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client'

/** The numbers of one gateway, in Prometheus' format. */
export type Metrics = ReturnType<typeof createMetrics>

const durationSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]

export function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  return {
    read: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
    requests: new Histogram({
      name: 'gateway_request_duration_seconds',
      help: 'Requests by method, status and time to the end of the answer.',
      labelNames: ['method', 'status'],
      buckets: durationSeconds,
      registers,
    }),
    attempts: new Counter({
      name: 'gateway_upstream_attempts_total',
      help: 'Tries of a provider by outcome.',
      labelNames: ['provider', 'outcome'],
      registers,
    }),
    calls: new Counter({
      name: 'gateway_calls_total',
      help: 'Calls in the ledger by face, modality, mode, outcome and cache.',
      labelNames: ['face', 'modality', 'mode', 'outcome', 'cache'],
      registers,
    }),
    tokens: new Counter({
      name: 'gateway_tokens_total',
      help: 'Tokens by direction and mode.',
      labelNames: ['direction', 'mode'],
      registers,
    }),
    costUsd: new Counter({
      name: 'gateway_cost_usd_total',
      help: 'Cost in dollars by mode; the ledger has it exactly.',
      labelNames: ['mode'],
      registers,
    }),
  }
}
