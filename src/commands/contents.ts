import { usdText } from '../core/money/price.ts'
import type { Contents } from '../storage/copies/store-file.ts'

/** What a copy of a store holds, in one line. */
export function contentsText({ accounts, keys, calls, newestCallAt, ...rest }: Contents): string {
  const newest = newestCallAt === null ? '' : `, the newest of ${dateText(newestCallAt)}`
  const cost = `$${usdText(BigInt(rest.costNanoUsd))}`
  const of = [`${rest.bytes} bytes`, counted(accounts, 'account'), counted(keys, 'key')]
  return `${of.join(', ')}, ${counted(calls, 'call')} for ${cost}${newest}; schema ${rest.schema}`
}

/** The same for `--json`. */
export function contentsJson({ newestCallAt, costNanoUsd, ...rest }: Contents): object {
  return {
    bytes: rest.bytes,
    schema: rest.schema,
    accounts: rest.accounts,
    keys: rest.keys,
    calls: rest.calls,
    newest_call_at: newestCallAt === null ? null : dateText(newestCallAt),
    cost: { usd: usdText(BigInt(costNanoUsd)) },
  }
}

/** A number with its noun. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function dateText(at: number): string {
  return new Date(at).toISOString()
}
