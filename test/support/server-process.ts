import { join } from 'node:path'
import type { Variables } from '../../src/settings/config.ts'
import { startProgram, type Program } from './program.ts'
import { projectFolder } from './folder.ts'

/** The real server in a separate process. */
export type ServerProcess = Program & { url: string }

type Options = {
  folder: string
  variables?: Variables
  npm?: boolean
  /** Command line options of Node. */
  words?: readonly string[]
  /** Command that starts the server instead of Node. */
  command?: readonly [command: string, words: readonly string[]]
}

const main = join(projectFolder, 'src/main.ts')

const whereItIs = /listening on (https?:\/\/\S+)/

/** Starts `node src/main.ts` or another command on a free port, with its store in `folder`. */
export async function startServer({
  folder,
  variables,
  npm,
  words = [],
  command = [process.execPath, [...words, main]],
}: Options): Promise<ServerProcess> {
  const settings = { PORT: '0', LOG_LEVEL: 'warn', DATA_DIR: join(folder, 'data'), ...variables }
  const program = npm
    ? startProgram('npm', ['start'], { folder: projectFolder, variables: settings })
    : startProgram(...command, { folder, variables: settings })
  const [, url = ''] = await program.printed(whereItIs)
  return { ...program, url }
}

/** The test key that a first start prints; undefined for a later start. */
export function printedKey({ stdout }: ServerProcess): string | undefined {
  return /mag_test_[\w-]+/.exec(stdout())?.[0]
}
