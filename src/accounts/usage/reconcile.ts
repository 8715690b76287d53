import { sql } from 'kysely'
import type { components } from '../../../generated/types.ts'
import { GatewayError } from '../../core/error.ts'
import { readAmount, readCostExport, type CostForm } from '../../core/money/cost-export.ts'
import { usdText } from '../../core/money/price.ts'
import type { Reader } from '../../storage/reader.ts'
import { dayMs } from './range.ts'

type Schemas = components['schemas']
type Options = Schemas['CostExport'] & {
  /** The forms of exports, each with the provider that writes it. */
  forms: readonly (CostForm & { provider: string })[]
  /** The id of a model in the catalog; undefined if it is unknown. */
  idOf: (name: string) => string | undefined
}
/** A part of the amounts of a day and model; `exported` and `rounding` are in 1e-18 dollars. */
type Part = { exported: bigint; rounding: bigint; ledgerNanoUsd: bigint; unpriced: number }
type LedgerRow = { day: number | string; model: string; cost: string; unpriced: number | string }

const daysMax = 400
const none: Part = { exported: 0n, rounding: 0n, ledgerNanoUsd: 0n, unpriced: 0 }
const attoPerNano = 10n ** 9n

/** Compares a cost export with the provider's live calls of all accounts, by model and UTC day. */
export async function reconcile(
  { db }: Pick<Reader, 'db'>,
  { content, tolerance_usd: toleranceUsd = '0.01', forms, idOf, ...options }: Options,
): Promise<Schemas['Reconciliation']> {
  const tolerance = readAmount(toleranceUsd, 9)
  if (tolerance === undefined || tolerance < 0n) {
    const text = 'The tolerance must be an amount in dollars. For example: 0.01'
    throw new GatewayError('invalid_value', text, { param: 'tolerance_usd' })
  }
  const { form, costs } = await readCostExport(content, forms)
  const { provider = form.provider } = options
  const modelOf = (item: string) => idOf(`${provider}/${item}`) ?? `${provider}/${item}`
  const days = costs.map(({ day }) => day).sort()
  const [from, to] = [days[0]!, days.at(-1)!]
  const [begin, end] = [Date.parse(from), Date.parse(to) + dayMs]
  if (end - begin > daysMax * dayMs) {
    const text = `The export is from ${from} to ${to}, more than ${daysMax} days. Export fewer days.`
    throw new GatewayError('invalid_value', text, { param: 'content' })
  }
  const { rows } = await sql<LedgerRow>`
    select hour_at - hour_at % ${sql.lit(dayMs)} as day, model,
      cast(sum(cost_nano_usd) as text) as cost, cast(sum(unpriced_calls) as bigint) as unpriced
    from usage_hours
    where account_id in (select id from accounts) and mode = 'live' and provider = ${provider}
      and hour_at >= ${begin} and hour_at < ${end}
    group by hour_at - hour_at % ${sql.lit(dayMs)}, model`.execute(db)
  if (rows.length === 0 && provider !== form.provider) await assertKnown(db, provider)
  const isByModel = costs.some(({ item }) => item)
  const nameOf = (item: string) => (item === '' ? '(no model)' : modelOf(item))
  const parts = [
    ...costs.flatMap(({ day, item, attoUsd: exported, roundingAttoUsd: rounding }) => {
      const model = isByModel ? nameOf(item ?? '') : '(all)'
      return item === undefined ? [] : [{ ...none, day, model, exported, rounding }]
    }),
    ...rows.map(({ day, model, cost, unpriced }) => ({
      ...none,
      day: new Date(Number(day)).toISOString().slice(0, 10),
      model: isByModel ? model : '(all)',
      ledgerNanoUsd: BigInt(cost),
      unpriced: Number(unpriced),
    })),
  ]
  const models = [...Map.groupBy(parts, ({ model }) => model)].map(([model, own]) => {
    const each = [...Map.groupBy(own, ({ day }) => day)]
      .map(([day, ofDay]) => ({ day, ...comparison(ofDay, tolerance) }))
      .sort((one, other) => (one.day < other.day ? -1 : 1))
    const sum = comparison(own, tolerance)
    const drifting = each.filter(({ drifts }) => drifts)
    const isDrift = drifting.length > 0 || sum.drifts
    const first = drifting[0] ?? each.find(({ difference_usd: usd }) => usd !== '0')
    return { model, ...sum, drifts: isDrift, since: isDrift ? first!.day : null, days: each }
  })
  const total = comparison(parts, tolerance)
  const drifts = total.drifts || models.some((one) => one.drifts)
  const range = { from, to, tolerance_usd: usdText(tolerance) }
  return { object: 'reconciliation', provider, ...range, drifts, total, models }
}

/** Throws `invalid_value` for a provider without any live call, which is compared with nothing. */
async function assertKnown(db: Reader['db'], provider: string): Promise<void> {
  const { rows } = await sql<{ provider: string }>`
    select distinct provider from usage_hours where mode = 'live' and provider <> '' order by provider`.execute(
    db,
  )
  const known = rows.map((row) => row.provider)
  if (known.includes(provider)) return
  const text = `The ledger has no live calls of the provider '${provider}'. It has calls of: ${known.join(', ') || 'none'}.`
  throw new GatewayError('invalid_value', text, { param: 'provider' })
}

function comparison(parts: readonly Part[], toleranceNanoUsd: bigint) {
  let { exported, rounding, ledgerNanoUsd, unpriced } = none
  for (const part of parts) {
    exported += part.exported
    rounding += part.rounding
    ledgerNanoUsd += part.ledgerNanoUsd
    unpriced += part.unpriced
  }
  const half = exported < 0n ? -attoPerNano / 2n : attoPerNano / 2n
  const exportedNanoUsd = (exported + half) / attoPerNano
  const difference = exportedNanoUsd - ledgerNanoUsd
  const most = toleranceNanoUsd + rounding / attoPerNano
  return {
    exported_usd: signedText(exportedNanoUsd),
    ledger_usd: signedText(ledgerNanoUsd),
    difference_usd: signedText(difference),
    unpriced_calls: unpriced,
    drifts: difference > most || -difference > most,
  }
}

function signedText(nanoUsd: bigint): string {
  return nanoUsd < 0n ? `-${usdText(-nanoUsd)}` : usdText(nanoUsd)
}
