import type { Counter } from 'prom-client'
import type { UsageRow } from '../core/receipt.ts'

const callLabels = ['face', 'modality', 'mode', 'outcome', 'cache'] as const
const modelLabels = ['provider', 'model'] as const

type ModelLabels = Record<(typeof modelLabels)[number], string>
type CallLabels = Pick<UsageRow, (typeof callLabels)[number]> & ModelLabels
/** Limit of the models with a label of their own; an endpoint may have any number of names. */
const modelsMax = 300
/** The label of all other models, and of calls that no provider answered. */
const other = '_OTHER'
type CreateCounter = <Label extends string>(
  name: string,
  help: string,
  ...labelNames: readonly Label[]
) => Counter<Label>
type Sums = {
  labels: CallLabels
  calls: number
  inputTokens: number
  outputTokens: number
  costNanoUsd: number
}

/**
 * Counters of the ledger's rows. The sums are kept here until the metrics are read: prom-client serializes
 * and checks the labels of each increment, and a row causes four increments.
 */
export function createLedgerCounters(counter: CreateCounter) {
  const calls = counter(
    'gateway_calls_total',
    'Calls in the ledger by face, modality, mode, outcome, cache, provider and model.',
    ...callLabels,
    ...modelLabels,
  )
  const tokens = counter(
    'gateway_tokens_total',
    'Tokens by direction, mode, provider and model.',
    'direction',
    'mode',
    ...modelLabels,
  )
  const costUsd = counter(
    'gateway_cost_usd_total',
    'Cost in dollars by mode, provider and model; the ledger has the exact amounts.',
    'mode',
    ...modelLabels,
  )
  const unsettled = new Map<string, Sums>()

  const models = new Set<string>()
  /** A model gets its label with its first answer, so that callers cannot create labels. */
  const modelOf = ({ model, outcome }: UsageRow): string => {
    if (models.has(model)) return model
    if (outcome !== 'ok' || models.size >= modelsMax) return other
    models.add(model)
    return model
  }
  const sumsOf = (row: UsageRow): Sums => {
    const { face, modality, mode, outcome, cache } = row
    const model = modelOf(row)
    const provider = row.provider ?? other
    const name = `${face} ${modality} ${mode} ${outcome} ${cache} ${provider} ${model}`
    const known = unsettled.get(name)
    if (known !== undefined) return known
    const labels = { face, modality, mode, outcome, cache, provider, model }
    const sums = { labels, calls: 0, inputTokens: 0, outputTokens: 0, costNanoUsd: 0 }
    unsettled.set(name, sums)
    return sums
  }

  return {
    add: (row: UsageRow) => {
      const sums = sumsOf(row)
      sums.calls++
      sums.inputTokens += row.usage.inputTokens
      sums.outputTokens += row.usage.outputTokens
      sums.costNanoUsd += row.costNanoUsd ?? 0
    },
    settle: () => {
      for (const { labels, ...sums } of unsettled.values()) {
        const { mode, provider, model } = labels
        calls.inc(labels, sums.calls)
        tokens.inc({ direction: 'input', mode, provider, model }, sums.inputTokens)
        tokens.inc({ direction: 'output', mode, provider, model }, sums.outputTokens)
        costUsd.inc({ mode, provider, model }, sums.costNanoUsd / 1e9)
      }
      unsettled.clear()
    },
  }
}
