import { backUp } from '../storage/copies/backup.ts'
import { json, jsonText, parsed, type Command } from './command.ts'
import { contentsJson, contentsText } from './contents.ts'
import { embeddedConfig, fileIn } from './embedded.ts'

/** backup: a copy of the store in one file, while the gateway runs. */
export const backup: Command = async (words, context) => {
  const { values, positionals } = parsed(words, { force: { type: 'boolean' }, ...json }, 1)
  const file = fileIn(positionals, 'backup')
  const { dataDir } = embeddedConfig(
    context,
    (database) =>
      `The store is a database, which has tools of its own: pg_dump --format=custom --file='${file}' '${database}', and pg_restore to put it back. For a copy that SQLite takes too: npm run -s gateway -- export '${file}'`,
  )
  const made = await backUp({ dataDir, file, replaces: values.force === true })
  const { file: path, journaledRows: journaled, refusedRows: refused } = made
  if (values.json === true) {
    const rows = { journaled_rows: journaled, refused_rows: refused }
    return { text: jsonText({ file: path, ...contentsJson(made), ...rows }) }
  }
  const lines = [
    `Backed up to ${path}: ${contentsText(made)}.`,
    ...(journaled === 0 ? [] : [`${journaled} of the calls came from journals.`]),
    ...(refused === 0 ? [] : [`${refused} rows of journals do not fit and are not in it.`]),
    'It was read again and is whole.',
  ]
  return { text: `${lines.join('\n')}\n` }
}
