import { restore as restoreFile } from '../storage/copies/backup.ts'
import { json, jsonText, parsed, type Command } from './command.ts'
import { contentsJson, contentsText } from './contents.ts'
import { embeddedConfig, fileIn } from './embedded.ts'

/** restore: puts a backup into the place of the store. */
export const restore: Command = async (words, context) => {
  const { values, positionals } = parsed(words, json, 1)
  const file = fileIn(positionals, 'restore')
  const { dataDir } = embeddedConfig(
    context,
    (database) =>
      `The store is a database, which has tools of its own: pg_restore --clean --if-exists --dbname='${database}' '${file}'. What export wrote is read by: npm run -s gateway -- import '${file}'`,
  )
  const restored = await restoreFile({ dataDir, file })
  const { file: path, replaced } = restored
  if (values.json === true) {
    return {
      text: jsonText({ file: path, data_dir: dataDir, ...contentsJson(restored), replaced }),
    }
  }
  const lines = [
    `Restored ${path} into ${dataDir}: ${contentsText(restored)}.`,
    ...(replaced === null ? [] : [`What was there is in ${replaced}.`]),
    'All is as it was when the backup was made: look at keys, sessions and limits that were changed since.',
  ]
  return { text: `${lines.join('\n')}\n` }
}
