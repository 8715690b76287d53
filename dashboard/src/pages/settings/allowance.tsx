import { BudgetPeriodValues } from '../../../../generated/client-values.ts'
import { bodyOf, PATCH, type Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useAct } from '../../data/load.ts'
import { Failure } from '../../elements/failure.tsx'
import { Field } from '../../elements/field.tsx'

type Account = Schemas['Account']

export const limitFields = [
  { name: 'requests_per_minute', label: 'Requests a minute' },
  { name: 'tokens_per_minute', label: 'Tokens a minute' },
  { name: 'images_per_minute', label: 'Pictures a minute' },
  { name: 'concurrency', label: 'Calls at once' },
] as const satisfies readonly { name: keyof Schemas['Limits']; label: string }[]

const periodNames: Record<Schemas['BudgetPeriod'], string> = {
  day: 'a day',
  month: 'a month',
  total: 'in all',
}

type Props = { account: Account; onEnd: (said: string | undefined) => void }

/** Changes what the account may use and spend; what is empty has no limit. */
export function Allowance({ account: { id, budget, limits }, onEnd }: Props) {
  const changing = useAct(async (form: FormData) => {
    const params = { path: { id } }
    await bodyOf(PATCH('/api/accounts/{id}', { params, body: changeOf(textsOf(form)) }))
    onEnd('The budget and the limits are changed, and hold from now on.')
  })
  const faultAt = (param: string) =>
    changing.error?.param?.startsWith(param) === true ? changing.error.message : undefined
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void changing.run(new FormData(event.currentTarget))
      }}
    >
      <Failure error={changing.error} />
      <div class="columns">
        <BudgetFields budget={budget} fault={faultAt('budget')} />
        {limitFields.map(({ name, label }) => (
          <Field key={name} label={label} fault={faultAt(`limits.${name}`)}>
            {(attributes) => (
              <input
                {...attributes}
                name={name}
                type="number"
                min={0}
                step={1}
                defaultValue={limits[name] ?? undefined}
              />
            )}
          </Field>
        ))}
      </div>
      <p class="row">
        <button disabled={changing.isBusy}>Save</button>
        <button type="button" class="plain" onClick={() => onEnd(undefined)}>
          Leave it
        </button>
      </p>
    </form>
  )
}

type BudgetProps = { budget: Account['budget']; fault: string | undefined }

function BudgetFields({ budget, fault }: BudgetProps) {
  return (
    <>
      <Field
        label="Budget in dollars"
        hint="None, where it is empty. 0 lets nothing through that costs anything."
        fault={fault}
      >
        {(attributes) => (
          <input
            {...attributes}
            name="usd"
            inputMode="decimal"
            pattern="\d{1,7}(\.\d{1,9})?"
            defaultValue={budget?.amount.usd}
          />
        )}
      </Field>
      <Field label="Budget for">
        {(attributes) => (
          <select {...attributes} name="period">
            {BudgetPeriodValues.map((period) => (
              <option key={period} value={period} selected={period === (budget?.period ?? 'month')}>
                {periodNames[period]}
              </option>
            ))}
          </select>
        )}
      </Field>
    </>
  )
}

function changeOf(given: Record<string, string>): Schemas['AccountChange'] {
  const { usd, period } = given
  const limits = limitFields.map(({ name }) => [
    name,
    given[name] === undefined ? null : Number(given[name]),
  ])
  return {
    limits: Object.fromEntries(limits) as Schemas['NewLimits'],
    budget: usd === undefined ? null : { usd, period: period as Schemas['BudgetPeriod'] },
  }
}
