import { mkdtempSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../../scripts/free-port.ts'
import { startDaemon, type Daemon } from './daemon.ts'

export type TestNginx = Daemon & { url: string; port: number }

/**
 * Starts nginx with a complete configuration, which may write below `folder` and must listen on `port` of
 * 127.0.0.1.
 */
export async function startNginx(
  configuration: (place: { port: number; folder: string }) => string,
): Promise<TestNginx> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-nginx-'))
  const port = await freePort()
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, configuration({ port, folder }))
  const daemon = await startDaemon({
    program: 'nginx',
    words: ['-c', file, '-p', folder, '-e', 'stderr', '-g', 'daemon off;'],
    isReady: () => takesConnections(port),
    stopSignal: 'SIGTERM',
    folder,
  })
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    kill: daemon.kill,
    killAll: daemon.killAll,
    stop: daemon.stop,
  }
}

export function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const end = (is: boolean) => {
      socket.destroy()
      resolve(is)
    }
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })
}
