import { BudgetPeriodValues } from '../../../generated/client-values.ts'
import type { Schemas } from '../data/api.ts'
import { periodTexts } from '../data/budget-periods.ts'
import { Field } from './field.tsx'

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
  /** What it is so far. */
  usd?: string | undefined
}

/** An amount of money that may be spent. */
export function DollarField({ label, hint, fault, usd = '' }: DollarProps) {
  return (
    <Field label={label} hint={hint} fault={fault}>
      {(attributes) => (
        <input
          {...attributes}
          name="usd"
          inputMode="decimal"
          pattern="\d{1,7}(\.\d{1,9})?"
          title="Dollars, such as 25 or 2.50"
          defaultValue={usd}
        />
      )}
    </Field>
  )
}

type BudgetProps = {
  budget: Schemas['NullableBudgetState'] | undefined
  hint: string
  /** What is wrong with what was given. */
  fault: string | undefined
}

/** What may be spent, and in which time. */
export function BudgetFields({ budget, hint, fault }: BudgetProps) {
  return (
    <>
      <DollarField label="Budget in dollars" usd={budget?.amount.usd} {...{ hint, fault }} />
      <Field label="Budget for">
        {(attributes) => (
          <select {...attributes} name="period">
            {BudgetPeriodValues.map((period) => (
              <option key={period} value={period} selected={period === (budget?.period ?? 'month')}>
                {periodTexts[period]}
              </option>
            ))}
          </select>
        )}
      </Field>
    </>
  )
}

type LimitProps = {
  limits: Schemas['Limits'] | undefined
  /** What is wrong with the member of the request with this name. */
  faultAt: (param: string) => string | undefined
}

/** What may be used at once and in a minute. */
export function LimitFields({ limits, faultAt }: LimitProps) {
  return (
    <>
      {limitFields.map(({ name, label }) => (
        <Field key={name} label={label} fault={faultAt(`limits.${name}`)}>
          {(attributes) => (
            <input
              {...attributes}
              name={name}
              type="number"
              min={0}
              max={1_000_000_000}
              step={1}
              defaultValue={limits?.[name] ?? ''}
            />
          )}
        </Field>
      ))}
    </>
  )
}

/** What those fields ask for: what is empty is lifted. */
export function allowanceOf(texts: Readonly<Record<string, string>>) {
  const { usd, period } = texts
  const limits = limitFields.map(({ name }) => {
    const text = texts[name]
    return [name, text === undefined ? null : Number(text)]
  })
  return {
    // The names are the contract's own, and so are the periods that the field offers.
    limits: Object.fromEntries(limits) as Schemas['Limits'],
    budget:
      usd === undefined ? null : { usd: usd.trim(), period: period as Schemas['BudgetPeriod'] },
  }
}
