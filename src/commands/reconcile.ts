import { createReadStream } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import type { components } from '../../generated/types.ts'
import { reconcile as compare } from '../accounts/usage/reconcile.ts'
import { configuredCatalog, readCatalogRows } from '../catalog/catalog.ts'
import { systemReason } from '../core/words/system-reason.ts'
import { costForms, namePrefixes } from '../providers/index.ts'
import { json, jsonText, parsed, text, UsageError, type Command } from './command.ts'
import { shownName, tableText } from './lists.ts'
import { withStore } from './with-store.ts'

const bytesMax = 32 * 1024 * 1024

/** reconcile: compares a vendor's cost export with the ledger; fails if they differ. */
export const reconcile: Command = async (words, context) => {
  const options = { provider: text, 'tolerance-usd': text, ...json }
  const { values, positionals } = parsed(words, options, 1)
  const [path] = positionals
  if (path === undefined)
    throw new UsageError('The file is missing. Usage: reconcile <file> [--provider <id>]')
  const { provider, 'tolerance-usd': tolerance_usd } = values
  const content = await contentOf(path)
  return withStore('none', context, async ({ store, config, clock }) => {
    const rows = readCatalogRows()
    const catalog = configuredCatalog({ ...config, rows, prefixes: namePrefixes, clock })
    const idOf = (name: string) => catalog.get(name)?.row.id
    const request = { content, provider, tolerance_usd, forms: costForms, idOf }
    const found = await compare(store.reader, request)
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

type Reconciliation = components['schemas']['Reconciliation']

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
