import { createReadStream } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { reconcile as compare, type Reconciliation } from '../accounts/usage/reconcile.ts'
import { configuredCatalog, readCatalogRows } from '../catalog/catalog.ts'
import { readAmount, readCostExport } from '../core/money/cost-export.ts'
import { systemReason } from '../core/words/system-reason.ts'
import { namePrefixes, vendors } from '../providers/index.ts'
import { json, jsonText, parsed, text, UsageError, type Command } from './command.ts'
import { shownName, tableText } from './lists.ts'
import { withStore } from './with-store.ts'

const bytesMax = 32 * 1024 * 1024
const forms = vendors.flatMap(({ id, costForms = [] }) =>
  costForms.map((form) => ({ ...form, id })),
)

/** reconcile: compares a vendor's cost export with the ledger; fails if they differ. */
export const reconcile: Command = async (words, context) => {
  const options = { provider: text, 'tolerance-usd': text, ...json }
  const { values, positionals } = parsed(words, options, 1)
  const [path] = positionals
  if (path === undefined)
    throw new UsageError('The file is missing. Usage: reconcile <file> [--provider <id>]')
  const toleranceNanoUsd = readAmount(values['tolerance-usd'] ?? '0.01', 9)
  if (toleranceNanoUsd === undefined || toleranceNanoUsd < 0n)
    throw new UsageError('--tolerance-usd must be an amount in dollars. For example: 0.01')
  const { form, costs } = readCostExport(await contentOf(path), forms)
  const provider = values.provider ?? form.id
  return withStore('none', context, async ({ store, config, clock }) => {
    const rows = readCatalogRows()
    const catalog = configuredCatalog({ ...config, rows, prefixes: namePrefixes, clock })
    const modelOf = (item: string) =>
      catalog.get(`${provider}/${item}`)?.row.id ?? `${provider}/${item}`
    const found = await compare(store.reader, { provider, costs, modelOf, toleranceNanoUsd })
    return { text: values.json ? jsonText(found) : textOf(found), failed: found.drifts }
  })
}

/** The file or pipe, of which no more is read than is allowed. */
async function contentOf(path: string): Promise<string> {
  const content = await buffer(createReadStream(path, { end: bytesMax })).catch(
    (error: unknown) => {
      throw new UsageError(`${path} cannot be read: ${systemReason(error)}.`)
    },
  )
  if (content.length <= bytesMax) return content.toString('utf8')
  throw new UsageError(`${path} has more than ${bytesMax} bytes. Export fewer days.`)
}

function textOf({ provider, from, to, tolerance_usd: tolerance, total, models }: Reconciliation) {
  const drifting = models.filter(({ drifts }) => drifts)
  const headings = ['model', 'since', 'days', 'export USD', 'ledger USD', 'difference USD']
  const rows = [...drifting, { model: 'total', since: '', days: [], ...total }].map((one) => [
    shownName(one.model),
    one.since ?? '',
    String(one.days.filter(({ drifts }) => drifts).length || ''),
    one.exported_usd,
    one.ledger_usd,
    one.difference_usd,
  ])
  const agreeing = `${models.length - drifting.length} of ${models.length} models agree within $${tolerance} a day.`
  const unpriced = total.unpriced_calls
  const hint = unpriced === 0 ? '' : `The ledger omits ${unpriced} calls of unknown cost.\n`
  const range = `Costs of ${provider} from ${from} to ${to} (UTC), export and ledger`
  return `${range}\n${tableText(headings, rows, 2)}${agreeing}\n${hint}`
}
