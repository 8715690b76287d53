/** The server: `npm start`. */
import {
  ConfigError,
  loadConfig,
  readVariables,
  workerCount,
  type Loaded,
  type ReadSettings,
} from './settings/config.ts'
import { obeySignals } from './process/signals.ts'
import { startFailure, takesNoArguments } from './process/start-failure.ts'

/** The arguments that the primary passes to its workers. */
const [role, workerId, sharedPort, rank] = process.argv.slice(2)

async function main(): Promise<void> {
  const isWorker = role === 'worker' && process.send !== undefined
  if (role !== undefined && !isWorker) {
    process.stderr.write(takesNoArguments)
    process.exit(2)
  }
  const readSettings: ReadSettings = (stored) => {
    const variables = isWorker ? { ...readVariables(), PORT: sharedPort } : readVariables()
    return loadConfig(variables, stored)
  }
  const settings = readFirst(readSettings)
  const exit = (code: number) => process.exit(code)
  if (!isWorker && workerCount(settings.config) > 1) {
    // Each role imports only its own modules.
    const { runPrimary } = await import('./process/primary.ts')
    const program = import.meta.filename
    return runPrimary({ settings, program, exit, print: (text) => process.stderr.write(text) })
  }
  // A closed standard output must not end the gateway.
  process.stdout.on('error', () => undefined)
  const print = (text: string) => void process.stdout.write(text)
  const options = { settings, readSettings, exit, print }
  if (isWorker) {
    const { runWorker } = await import('./process/worker.ts')
    return runWorker({ ...options, id: Number(workerId), isFirst: rank === 'first', fail })
  }
  const { serve } = await import('./process/serve.ts')
  return serve({ ...options, obey: obeySignals })
}

function readFirst(readSettings: () => Loaded): Loaded {
  try {
    return readSettings()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`The settings are invalid:\n${error.message.replaceAll(/^/gm, '  ')}\n`)
    process.exit(78)
  }
}

function fail(error: Error): void {
  process.stderr.write(startFailure(error))
  process.exit(1)
}

await main().catch(fail)
