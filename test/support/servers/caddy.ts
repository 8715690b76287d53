import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../../scripts/free-port.ts'
import { startDaemon, type Daemon } from './daemon.ts'

export type TestCaddy = Daemon & { url: string }

/** Starts Caddy with a complete Caddyfile, which must listen on `port` of 127.0.0.1. */
export async function startCaddy(
  configuration: (place: { port: number }) => string,
): Promise<TestCaddy> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-caddy-'))
  const port = await freePort()
  const file = join(folder, 'Caddyfile')
  writeFileSync(file, configuration({ port }))
  const daemon = await startDaemon({
    program: 'caddy',
    words: ['run', '--config', file, '--adapter', 'caddyfile'],
    ready: /serving initial configuration/,
    stopSignal: 'SIGKILL',
    folder,
  })
  return {
    url: `http://127.0.0.1:${port}`,
    kill: daemon.kill,
    killAll: daemon.killAll,
    stop: daemon.stop,
  }
}
