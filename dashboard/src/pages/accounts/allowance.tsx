import { BudgetPeriodValues } from '../../../../generated/client-values.ts'
import type { Schemas } from '../../data/api.ts'
import { Field } from '../../elements/field.tsx'

type Account = Schemas['Account']
type Props = {
  account?: Account | undefined
  /** What is wrong with the member of the request with this name. */
  faultAt: (param: string) => string | undefined
}

const periods: Record<Schemas['BudgetPeriod'], string> = {
  day: 'a day',
  month: 'a month',
  total: 'in all',
}

type LimitName = keyof Schemas['Limits']
const limitFields: readonly { name: LimitName; label: string }[] = [
  { name: 'requests_per_minute', label: 'Requests a minute' },
  { name: 'tokens_per_minute', label: 'Tokens a minute' },
  { name: 'images_per_minute', label: 'Pictures a minute' },
  { name: 'concurrency', label: 'Calls at once' },
]

/** The name of an account, what it may spend and what it may use. */
export function AllowanceFields({ account, faultAt }: Props) {
  const budget = account?.budget ?? null
  return (
    <>
      <Field label="Name" fault={faultAt('name')}>
        {(attributes) => (
          <input
            {...attributes}
            name="name"
            required
            maxLength={100}
            defaultValue={account?.name ?? ''}
          />
        )}
      </Field>
      <div class="columns">
        <Field
          label="Budget in dollars"
          hint="Of all of its keys together; none, where it is empty."
          fault={faultAt('budget')}
        >
          {(attributes) => (
            <input
              {...attributes}
              name="usd"
              inputMode="decimal"
              pattern="\d{1,7}(\.\d{1,9})?"
              defaultValue={budget?.amount.usd ?? ''}
            />
          )}
        </Field>
        <Field label="Budget for">
          {(attributes) => (
            <select {...attributes} name="period">
              {BudgetPeriodValues.map((period) => (
                <option
                  key={period}
                  value={period}
                  selected={period === (budget?.period ?? 'month')}
                >
                  {periods[period]}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <LimitFields account={account} faultAt={faultAt} />
    </>
  )
}

function LimitFields({ account, faultAt }: Props) {
  return (
    <fieldset>
      <legend>Limits</legend>
      <p class="hint accounts-limits">
        The gateway's own, where a field is empty. 0 lets nothing through: that pauses the account.
      </p>
      <div class="columns">
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
                defaultValue={account?.limits[name] ?? ''}
              />
            )}
          </Field>
        ))}
      </div>
    </fieldset>
  )
}

/** What a filled form says; an empty field is none. */
export function allowanceIn(form: FormData): Schemas['NewAccount'] {
  const text = (name: string) => {
    const given = form.get(name)
    return typeof given === 'string' ? given.trim() : ''
  }
  const limits = Object.fromEntries(
    limitFields.map(({ name }) => [name, text(name) === '' ? null : Number(text(name))]),
  )
  const period = BudgetPeriodValues.find((one) => one === text('period')) ?? 'month'
  return {
    name: text('name'),
    limits,
    budget: text('usd') === '' ? null : { usd: text('usd'), period },
  }
}
