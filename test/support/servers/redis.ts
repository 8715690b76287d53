import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../../scripts/free-port.ts'
import { startDaemon, type Daemon } from './daemon.ts'

/** A temporary Redis server, empty at each start. */
export type TestRedis = Daemon & {
  url: string
  /** Starts the killed server again, on the same port. */
  restart(): Promise<void>
}

let shared: Promise<TestRedis> | undefined

/** Redis of this test process, for specs that neither stop nor configure the server. */
export function sharedRedis(): Promise<TestRedis> {
  shared ??= startRedis()
  return shared
}

/** Starts a Redis server, in about 20 ms; `words` are additional command line options. */
export async function startRedis(words: readonly string[] = []): Promise<TestRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-redis-'))
  const port = await freePort()
  const start = () =>
    startDaemon({
      program: 'redis-server',
      words: [
        '--port',
        String(port),
        '--bind',
        '127.0.0.1',
        '--dir',
        folder,
        '--save',
        '',
        '--appendonly',
        'no',
        ...words,
      ],
      ready: /Ready to accept connections/,
      stopSignal: 'SIGKILL',
      folder,
    })
  let daemon = await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    kill: (signal) => daemon.kill(signal),
    killAll: (signal) => daemon.killAll(signal),
    restart: async () => {
      await daemon.stop({ keepsFolder: true })
      daemon = await start()
    },
    stop: (options) => daemon.stop(options),
  }
}
