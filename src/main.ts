/** The server: `npm start`. */
import { ConfigError, loadConfig, readVariables, workerCount, type Loaded } from './config.ts'
import { obeySignals } from './signals.ts'
import { startFailure } from './start-failure.ts'

async function main(): Promise<void> {
  const settings = readConfig()
  const exit = (code: number) => process.exit(code)
  // A primary needs nothing of what answers, and a single process nothing of the primary.
  if (workerCount(settings.config) > 1) {
    const { runPrimary } = await import('./workers/primary.ts')
    return runPrimary({ settings, exit, print: (text) => process.stderr.write(text) })
  }
  const { serve } = await import('./serve.ts')
  // Who started it need not read what it prints.
  process.stdout.on('error', () => undefined)
  const print = (text: string) => void process.stdout.write(text)
  const readSettings = () => loadConfig(readVariables())
  return serve({ settings, readSettings, obey: obeySignals, exit, print })
}

function readConfig(): Loaded {
  try {
    return loadConfig(readVariables())
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`The settings are not right:\n${error.message.replaceAll(/^/gm, '  ')}\n`)
    process.exit(78)
  }
}

await main().catch((error: Error) => {
  process.stderr.write(startFailure(error))
  process.exit(1)
})
