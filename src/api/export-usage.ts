import type { components } from '../../generated/types.ts'
import type { UsageExports } from '../accounts/usage/export.ts'
import type { Operation } from '../http/operation.ts'
import { countColumns, fileAnswer, formatOf, type Columns } from './exported-file.ts'
import { rangeOf } from './usage.ts'

type Group = components['schemas']['UsageGroup']
type Dimension = components['schemas']['UsageDimension']

/** GET /api/usage/export */
export function exportUsage({ groups }: UsageExports): Operation<'exportUsage'> {
  return async ({ caller, query, request }) => {
    const range = rangeOf(caller, query)
    const groupBy = query.group_by ?? []
    const columns = { ...groupColumns(groupBy), ...sumColumns }
    return fileAnswer(formatOf(query.format, request.headers.accept), {
      ...groups({ ...range, groupBy }),
      columns,
    })
  }
}

function groupColumns(groupBy: readonly Dimension[]): Columns<Group> {
  const names = groupBy.flatMap((name) => namesOf[name] ?? name)
  return Object.fromEntries(names.map((name) => [name, (group: Group) => group[name] ?? null]))
}

const namesOf: Partial<Record<Dimension, readonly (keyof Omit<Group, 'sums'>)[]>> = {
  key: ['key', 'key_name'],
  member: ['member', 'member_name'],
}

const sumColumns: Columns<Group> = {
  calls: ({ sums }) => sums.calls,
  failed_calls: ({ sums }) => sums.failed_calls,
  cached_calls: ({ sums }) => sums.cached_calls,
  unpriced_calls: ({ sums }) => sums.unpriced_calls,
  ...countColumns(({ sums }: Group) => sums),
  duration_ms: ({ sums }) => sums.duration_ms,
  cost_usd: ({ sums }) => sums.cost.usd,
  cost_nano_usd: ({ sums }) => sums.cost.nano_usd,
  saved_usd: ({ sums }) => sums.saved.usd,
  saved_nano_usd: ({ sums }) => sums.saved.nano_usd,
}
