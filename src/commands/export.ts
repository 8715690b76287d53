import { exportStore } from '../storage/copies/export.ts'
import { json, jsonText, parsed, type Command } from './command.ts'
import { counted } from './contents.ts'
import { fileIn } from './embedded.ts'
import { withStore } from './with-store.ts'

/** export: all rows of the store as lines of JSON, which import reads into any store. */
export const exportRows: Command = async (words, context) => {
  const { values, positionals } = parsed(words, { force: { type: 'boolean' }, ...json }, 1)
  const file = fileIn(positionals, 'export')
  return withStore('none', context, async ({ store, config: { dataDir } }) => {
    const made = await exportStore({ store, dataDir, file, replaces: values.force === true })
    const { head, rows, journaledRows: journaled } = made
    if (values.json === true) {
      const { schema, rows: tables } = head
      const told = { file: made.file, schema, rows, tables, journaled_rows: journaled }
      return { text: jsonText(told) }
    }
    const lines = [
      `Exported ${counted(rows, 'row')} to ${made.file}, schema ${head.schema}. It was read again and is whole.`,
      tablesText(head.rows),
      ...(journaled === 0
        ? []
        : [
            `${counted(journaled, 'row')} of journals may be missing: start the gateway, and export again.`,
          ]),
    ]
    return { text: `${lines.join('\n')}\n` }
  })
}

/** How many rows each table has, but for those that have none. */
export function tablesText(rows: Readonly<Record<string, number>>): string {
  const tables = Object.entries(rows).filter(([, count]) => count > 0)
  return tables.map(([table, count]) => `  ${table}  ${count}`).join('\n')
}
