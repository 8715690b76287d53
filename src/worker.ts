/** A worker of the server: started by the primary, which is `npm start` with `WORKERS` above 1. */
import cluster from 'node:cluster'
import { loadConfig, readVariables } from './config.ts'
import { lineLimits } from './peers/line.ts'
import { pipeOf } from './peers/pipe.ts'
import { createPrimaryLine } from './peers/primary-line.ts'
import { serve } from './serve.ts'
import { startFailure } from './start-failure.ts'
import { obeyPrimary } from './workers/obey-primary.ts'
import { outliveStart } from './workers/orphan.ts'
import { topics, type Start } from './workers/start.ts'

// The line is there before the next message arrives.
process.once('message', ({ start }: Start) => {
  const { id, settings, version, isFirst } = start
  const exit = (code: number) => process.exit(code)
  const fault = (error: Error) => {
    process.stderr.write(startFailure(error))
    exit(1)
  }
  const primary = createPrimaryLine({
    pipe: pipeOf(process),
    limits: lineLimits(settings.config.limits),
    monotonic: () => Math.trunc(performance.now()),
    // What crosses it may be lost.
    onFault: () => undefined,
  })
  let { allListen } = start
  primary.on(topics.allListen, () => (allListen = true))
  process.stdout.on('error', () => undefined)
  serve({
    settings,
    readSettings: () => loadConfig(readVariables()),
    worker: { id, primary, isFirst, allListen: () => allListen },
    obey: (parts) => {
      obeyPrimary({ ...parts, primary, self: cluster.worker! })
      outliveStart()
    },
    exit,
    print: (text) => void process.stdout.write(text),
  }).then(() => primary.tell(topics.started, version), fault)
})
