import type { Schemas } from '../../data/api.ts'
import { shortCount, shortUsd } from '../../data/money.ts'

type Sums = Schemas['UsageSums']

/** A part of a metric; `filter` selects its requests on the requests page, if a filter can. */
type Part = {
  title: string
  valueOf: (sums: Sums) => number
  filter?: Record<string, string>
}

/** A quantity of calls that is shown over time and compared with the previous range. */
export type Metric = {
  name: string
  title: string
  valueOf: (sums: Sums) => number
  format: (value: number) => string
  isCount: boolean
  /** The exact value in dollars; only for metrics that are amounts. */
  usdOf?: (sums: Sums) => string
  /** Parts that are stacked in a bar, from bottom to top. */
  parts?: readonly Part[]
  /** A rate cannot be added up over groups. */
  isRate?: true
}

const formatUsd = (value: number) => shortUsd(value.toFixed(9))
const rate = ({ failed_calls: failed, calls }: Sums) => (calls === 0 ? 0 : failed / calls)

export const metrics: readonly Metric[] = [
  {
    name: 'spent',
    title: 'Spent',
    valueOf: ({ cost }) => Number(cost.usd),
    format: formatUsd,
    isCount: false,
    usdOf: ({ cost }) => cost.usd,
  },
  {
    name: 'requests',
    title: 'Requests',
    valueOf: ({ calls }) => calls,
    format: shortCount,
    isCount: true,
    parts: [
      {
        title: 'From providers',
        valueOf: (sums) => sums.calls - sums.cached_calls - sums.failed_calls,
      },
      {
        title: 'From the cache',
        valueOf: (sums) => sums.cached_calls,
        filter: { cache: 'hit' },
      },
      {
        title: 'Failed',
        valueOf: (sums) => sums.failed_calls,
        filter: { outcome: 'failed' },
      },
    ],
  },
  {
    name: 'images',
    title: 'Pictures',
    valueOf: ({ images }) => images,
    format: shortCount,
    isCount: true,
  },
  {
    name: 'tokens',
    title: 'Tokens',
    valueOf: (sums) => sums.input_tokens + sums.output_tokens,
    format: shortCount,
    isCount: true,
    parts: [
      { title: 'Input', valueOf: (sums) => sums.input_tokens },
      { title: 'Output', valueOf: (sums) => sums.output_tokens },
    ],
  },
  {
    name: 'saved',
    title: 'Cache savings',
    valueOf: ({ saved }) => Number(saved.usd),
    format: formatUsd,
    isCount: false,
    usdOf: ({ saved }) => saved.usd,
  },
  {
    name: 'errors',
    title: 'Error rate',
    valueOf: rate,
    format: (value) => `${(value * 100).toFixed(1)}%`,
    isCount: false,
    isRate: true,
  },
]
