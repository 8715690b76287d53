import type { Schemas } from '../../data/api.ts'
import { shortCount, shortUsd } from '../../data/money.ts'

type Sums = Schemas['UsageSums']

/** Something that is told of calls, over time and against the time before. */
export type Metric = {
  name: string
  title: string
  valueOf: (sums: Sums) => number
  tell: (value: number) => string
  /** Of an amount, all of its decimals. */
  usdOf?: (sums: Sums) => string
  /** Its parts, from bottom to top of a bar, where it has some that are worth telling apart. */
  parts?: readonly { title: string; valueOf: (sums: Sums) => number }[]
  /** A rate is no sum of those of its groups. */
  isRate?: true
}

const tellUsd = (value: number) => shortUsd(value.toFixed(9))
const rate = ({ failed_calls: failed, calls }: Sums) => (calls === 0 ? 0 : failed / calls)

export const metrics: readonly Metric[] = [
  {
    name: 'spent',
    title: 'Spent',
    valueOf: ({ cost }) => Number(cost.usd),
    tell: tellUsd,
    usdOf: ({ cost }) => cost.usd,
  },
  {
    name: 'requests',
    title: 'Requests',
    valueOf: ({ calls }) => calls,
    tell: shortCount,
    parts: [
      {
        title: 'From providers',
        valueOf: (sums) => sums.calls - sums.cached_calls - sums.failed_calls,
      },
      { title: 'From the cache', valueOf: (sums) => sums.cached_calls },
      { title: 'Failed', valueOf: (sums) => sums.failed_calls },
    ],
  },
  { name: 'images', title: 'Pictures', valueOf: ({ images }) => images, tell: shortCount },
  {
    name: 'tokens',
    title: 'Tokens',
    valueOf: (sums) => sums.input_tokens + sums.output_tokens,
    tell: shortCount,
    parts: [
      { title: 'Input', valueOf: (sums) => sums.input_tokens },
      { title: 'Output', valueOf: (sums) => sums.output_tokens },
    ],
  },
  {
    name: 'saved',
    title: 'Cache savings',
    valueOf: ({ saved }) => Number(saved.usd),
    tell: tellUsd,
    usdOf: ({ saved }) => saved.usd,
  },
  {
    name: 'errors',
    title: 'Error rate',
    valueOf: rate,
    tell: (value) => `${(value * 100).toFixed(1)}%`,
    isRate: true,
  },
]
