import { archiveUsage, type ArchivedMonth } from '../storage/copies/archive.ts'
import { counted } from '../core/words/counted.ts'
import { usdText } from '../core/money/price.ts'
import { gatewayCommand } from '../core/words/remedies.ts'
import { json, jsonText, parsed, UsageError, type Command } from './command.ts'
import { withStore } from './with-store.ts'

/** archive: writes closed months of usage to files, and removes the rows that `usage_months` does not keep. */
export const archive: Command = async (words, context) => {
  const { values, positionals } = parsed(words, json, 1)
  const [folder = ''] = positionals
  if (folder === '')
    throw new UsageError(`The folder is missing. Usage: ${gatewayCommand} archive <folder>`)
  return withStore('none', context, async ({ store, config: { dataDir, limits }, clock }) => {
    const { usageMonths: monthsKept } = limits
    const months: ReturnType<typeof inJson>[] = []
    const onMonth = (month: ArchivedMonth) => {
      const { cost, file, calls, sha256, kept } = inJson(month)
      months.push(inJson(month))
      const stay = kept === 0 ? '' : ` ${counted(kept, 'row')} came later, and stay.`
      const content = `${counted(calls, 'call')} for $${cost.usd}`
      context.notice(`${month.month}: ${content} in ${file}, SHA-256 ${sha256}.${stay}`)
    }
    await archiveUsage({ store, dataDir, folder, monthsKept, now: clock(), onMonth })
    const removed = months.reduce((sum, one) => sum + one.removed, 0)
    if (values.json === true)
      return { text: jsonText({ usage_months: monthsKept, removed, months }) }
    const what =
      monthsKept === 0
        ? 'No row was removed, since usage_months is not set.'
        : `${counted(removed, 'row')} removed; the sums of reports stay.`
    return { text: `Archived ${counted(months.length, 'month')}. ${what}\n` }
  })
}

function inJson({ month, file, calls, costNanoUsd, sha256, removed, kept }: ArchivedMonth) {
  return { month, file, calls, cost: { usd: usdText(BigInt(costNanoUsd)) }, sha256, removed, kept }
}
