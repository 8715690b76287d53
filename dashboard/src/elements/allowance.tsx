import { BudgetPeriodValues } from '../../../generated/client-values.ts'
import type { Schemas } from '../data/api.ts'
import { periodTexts } from '../data/budget-periods.ts'
import { shortCount } from '../data/money.ts'
import { SelectField } from './controls.tsx'
import { InputField } from './field.tsx'

export const limitFields: readonly { name: keyof Schemas['Limits']; label: string }[] = [
  { name: 'requests_per_minute', label: 'Requests a minute' },
  { name: 'tokens_per_minute', label: 'Tokens a minute' },
  { name: 'images_per_minute', label: 'Pictures a minute' },
  { name: 'concurrency', label: 'Calls at once' },
]

type DollarProps = {
  label: string
  hint: string
  fault: string | undefined
  /** Current amount in US dollars. */
  usd?: string | undefined
  name?: string
}

/** A field for an amount in US dollars. */
export function DollarField({ usd = '', name = 'usd', ...texts }: DollarProps) {
  return (
    <InputField
      {...texts}
      name={name}
      inputMode="decimal"
      pattern="\d{1,7}(\.\d{1,9})?"
      title="Dollars, such as 25 or 2.50"
      defaultValue={usd}
    />
  )
}

type BudgetProps = {
  budget: { amount: { usd: string }; period: Schemas['BudgetPeriod'] } | null | undefined
  hint: string
  /** Prefix of the names of the fields. */
  of?: string
  /** Error message of the field. */
  fault: string | undefined
}

/** Fields for the amount and the period of a budget. */
export function BudgetFields({ budget, hint, fault, of = '' }: BudgetProps) {
  return (
    <>
      <DollarField
        label="Budget in dollars"
        name={`${of}usd`}
        usd={budget?.amount.usd}
        {...{ hint, fault }}
      />
      <SelectField
        label="Budget for"
        name={`${of}period`}
        choices={BudgetPeriodValues.map((period) => [period, periodTexts[period]])}
        chosen={budget?.period ?? 'month'}
      />
    </>
  )
}

type LimitProps = {
  limits: Schemas['NewLimits'] | undefined
  /** Prefix of the names of the fields. */
  of?: string
  /** Error message for a member of the request, by its name. */
  faultAt: (param: string) => string | undefined
}

/** Fields for limits per minute and for concurrent calls. */
export function LimitFields({ limits, faultAt, of = '' }: LimitProps) {
  return (
    <>
      {limitFields.map(({ name, label }) => (
        <InputField
          key={name}
          label={label}
          type="number"
          name={of + name}
          min={0}
          max={1_000_000_000}
          defaultValue={limits?.[name] ?? ''}
          fault={faultAt(`limits.${name}`)}
        />
      ))}
    </>
  )
}

type AllowanceProps = Pick<BudgetProps, 'budget' | 'hint'> &
  LimitProps & {
    /** Path of `budget` and `limits` in the request, with a dot at its end. */
    at?: string
  }

/** Fields for a budget and for limits. */
export function AllowanceFields({ budget, hint, limits, faultAt, of, at = '' }: AllowanceProps) {
  return (
    <div class="columns">
      <BudgetFields of={of} {...{ budget, hint }} fault={faultAt(`${at}budget`)} />
      <LimitFields of={of} limits={limits} faultAt={(param) => faultAt(at + param)} />
    </div>
  )
}

/** Converts the texts of these fields to a request body; an empty field removes the limit or budget. */
export function allowanceOf(texts: Readonly<Record<string, string>>, of = '') {
  const { [`${of}usd`]: usd, [`${of}period`]: period } = texts
  const limits = limitFields.map(({ name }) => {
    const text = texts[`${of}${name}`]
    return [name, text === undefined ? null : Number(text)]
  })
  return {
    // The fields are named as in the contract, and the period field offers only the periods of the contract.
    limits: Object.fromEntries(limits) as Schemas['Limits'],
    budget:
      usd === undefined ? null : { usd: usd.trim(), period: period as Schemas['BudgetPeriod'] },
  }
}

/** A budget and limits, in words. */
export const allowanceTexts = ({
  limits,
  budget,
}: Pick<Schemas['KeyBounds'], 'limits' | 'budget'>) => [
  ...(budget ? [`$${budget.usd} ${periodTexts[budget.period]}`] : []),
  ...limitFields.flatMap(({ name, label }) => {
    const most = limits?.[name] ?? null
    return most === null ? [] : [`${label.toLowerCase()}: ${shortCount(most)}`]
  }),
]

/** The bounds of the keys that a member creates, in words. */
export function keyBoundsText(bounds: Schemas['KeyBounds']): string {
  const { models, expires_in_days: days } = bounds
  const own = [...(models ?? []), ...allowanceTexts(bounds), ...(days ? [`${days} days`] : [])]
  return own.join(', ') || 'without bounds'
}
