import { loadConfig } from '../settings/config.ts'
import { usdText } from '../core/money/price.ts'
import { importIntoDatabase, importIntoFolder, type Imported } from '../storage/copies/import.ts'
import { json, jsonText, parsed, type Command, type CommandContext } from './command.ts'
import { counted } from './contents.ts'
import { fileIn } from './embedded.ts'
import { tablesText } from './export.ts'
import { withStore } from './with-store.ts'

/** import: fills an empty store with what export wrote. */
export const importRows: Command = async (words, context) => {
  const { values, positionals } = parsed(words, json, 1)
  const file = fileIn(positionals, 'import')
  const { head, rows, costNanoUsd, replaced, ...imported } = await imports(file, context)
  const usd = usdText(BigInt(costNanoUsd))
  if (values.json === true) {
    const { schema, rows: tables } = head
    const told = { file: imported.file, schema, rows, tables, cost: { usd }, replaced }
    return { text: jsonText(told) }
  }
  const lines = [
    `Imported ${counted(rows, 'row')} from ${imported.file}; the calls cost $${usd} there and here.`,
    tablesText(head.rows),
    ...(replaced === null ? [] : [`The empty store that was there is in ${replaced}.`]),
  ]
  return { text: `${lines.join('\n')}\n` }
}

async function imports(file: string, context: CommandContext): Promise<Imported> {
  const { config, secrets } = loadConfig(context.readVariables())
  const { dataDir } = config
  if (secrets.databaseUrl === undefined) return importIntoFolder({ dataDir, file })
  return withStore('create', context, ({ store }) => importIntoDatabase({ store, file }))
}
