import { useEffect, useMemo, useState } from 'preact/hooks'
import { textLengths } from '../../../../generated/client-values.ts'
import { bodyOf, POST, Refusal, type Schemas } from '../../data/api.ts'
import { useAct } from '../../data/load.ts'
import { exactUsd, shortUsd } from '../../data/money.ts'
import { addressOf } from '../../data/place.ts'
import { Failure } from '../../elements/failure.tsx'
import { InputField } from '../../elements/field.tsx'
import { Form } from '../../elements/form.tsx'
import { numbers, Table } from '../../elements/table.tsx'

type Reconciliation = Schemas['Reconciliation']
type Costs = Schemas['ComparedCosts']

const { max: lengthMax } = textLengths.CostExportText

/** The operators' page that compares a vendor's cost export with the ledger. */
export function Page() {
  const [found, setFound] = useState<Reconciliation>()
  const comparing = useAct(async (filled: FormData) => {
    setFound(undefined)
    // The field is a file input.
    const file = filled.get('file') as File
    if (file.size > lengthMax) {
      const text = `The file has more than ${lengthMax / 1024 ** 2} MiB. Export fewer days, or use the command reconcile.`
      throw new Refusal(text, { status: 413, param: 'content' })
    }
    const content = await file.text()
    setFound(await bodyOf(POST('/api/reconcile', { body: { content } })))
  })
  const fault = comparing.faultAt('content')
  return (
    <>
      <div class="head">
        <h1>Reconcile invoices</h1>
        <a href={addressOf('/providers')}>All providers</a>
      </div>
      <Form class="card" send={comparing.run}>
        <p>Compares what a vendor charged with the ledger, by model and day.</p>
        <InputField
          label="Cost export"
          hint="The CSV of costs from OpenAI's dashboard, by line item, or from the Claude Console; or the JSON of their cost APIs."
          fault={fault}
          name="file"
          type="file"
          accept=".csv,.json"
          required
        />
        {fault === undefined && <Failure error={comparing.error} />}
        <button type="submit" disabled={comparing.isBusy}>
          {comparing.isBusy ? 'Comparing…' : 'Compare'}
        </button>
      </Form>
      {found !== undefined && <Result found={found} />}
    </>
  )
}

function Result({ found }: { found: Reconciliation }) {
  const { provider, from, to, tolerance_usd: tolerance, total, models } = found
  const drifting = models.filter(({ drifts }) => drifts)
  const count = `${drifting.length} of ${models.length} models`
  return (
    <section class="card" aria-labelledby="reconciled">
      <div class="head">
        <h2 id="reconciled">
          {found.drifts ? `${count} differ, by ${signed(total.difference_usd)}` : 'No differences'}
        </h2>
        <Download found={found} />
      </div>
      <p>
        {provider} from {from} to {to} (UTC). Differences of up to {exactUsd(tolerance)} a day and
        those by the vendor's rounding are ignored.
        {total.unpriced_calls > 0 &&
          ` The ledger omits ${total.unpriced_calls} calls of unknown cost.`}
      </p>
      <Table label="Models" class="stacked" columns={['Model', 'Differs since', ...amounts]}>
        {[...drifting, ...models.filter(({ drifts }) => !drifts)].map((one) => (
          <tr key={one.model}>
            <th scope="row" class="first">
              {one.model}
            </th>
            <td class="across" data-head={one.since && 'Differs since'}>
              {one.since ?? <span class="quiet">agrees</span>}
            </td>
            <Amounts costs={one} />
          </tr>
        ))}
        <tr>
          <th scope="row" class="first">
            Total
          </th>
          <td class="minor" />
          <Amounts costs={total} />
        </tr>
      </Table>
    </section>
  )
}

const amounts = [numbers('Vendor'), numbers('Ledger'), numbers('Difference')]

function Amounts({ costs }: { costs: Costs }) {
  const { exported_usd: exported, ledger_usd: ledger, difference_usd: difference } = costs
  return [exported, ledger, difference].map((usd, at) => (
    <td
      key={at}
      class={['number', 'number at-end', 'number beside'][at]}
      data-head={['Vendor', 'Ledger'][at]}
      title={`${usd} USD`}
    >
      {at === 2 && costs.drifts ? <span class="state wrong">{signed(usd)}</span> : signed(usd)}
    </td>
  ))
}

/** An amount that may be negative. */
function signed(usd: string): string {
  return usd.startsWith('-') ? `−${shortUsd(usd.slice(1))}` : shortUsd(usd)
}

/** A link to the days of all models as a file. */
function Download({ found: { provider, from, to, models } }: { found: Reconciliation }) {
  const url = useMemo(() => {
    const head = 'day,model,exported_usd,ledger_usd,difference_usd,drifts'
    const rows = models.flatMap(({ model, days }) =>
      days.map((one) =>
        [
          one.day,
          // Spreadsheets evaluate other beginnings as a formula.
          `"${model.replace(/^(?=[=+\-@\s])/, "'").replaceAll('"', '""')}"`,
          one.exported_usd,
          one.ledger_usd,
          one.difference_usd,
          one.drifts,
        ].join(),
      ),
    )
    return URL.createObjectURL(new Blob([[head, ...rows, ''].join('\r\n')], { type: 'text/csv' }))
  }, [models])
  useEffect(() => () => URL.revokeObjectURL(url), [url])
  return (
    <a class="button plain small" href={url} download={`costs-${provider}-${from}-${to}.csv`}>
      Download CSV
    </a>
  )
}
