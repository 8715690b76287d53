import { runCommandLine } from '../../src/command-line.ts'
import type { Variables } from '../../src/settings/config.ts'

/**
 * Runs a command of the command line in this process, with only the given variables.
 *
 * @example
 * const { code, stdout } = await runCommand(['keys', 'list'], { DATA_DIR: gateway.dataDir })
 */
export async function runCommand(
  words: readonly string[],
  variables: Variables = {},
  secret = '',
  isTerminal = false,
) {
  const printed = { stdout: '', stderr: '' }
  const code = await runCommandLine([...words], {
    readVariables: () => variables,
    isTerminal,
    readSecret: () => Promise.resolve(secret),
    print: (text) => void (printed.stdout += text),
    notice: (line) => void (printed.stderr += `${line}\n`),
  })
  return { code, ...printed }
}
