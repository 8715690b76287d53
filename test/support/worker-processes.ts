import { randomUUID } from 'node:crypto'
import type { ServerProcess } from './server-process.ts'
import { sharedRedis } from './servers/redis.ts'

export type LoggedLine = { msg: string; worker?: number; [field: string]: unknown }

/** Variables of a server with several workers, which share the Redis of this test process. */
export async function workerVariables(count = 2) {
  const { url } = await sharedRedis()
  return {
    WORKERS: String(count),
    REDIS_URL: url,
    REDIS_KEY_PREFIX: `${randomUUID()}:`,
    LOG_LEVEL: 'info',
  }
}

/** Log lines of a server so far. */
export function loggedLines({ stderr }: Pick<ServerProcess, 'stderr'>): LoggedLine[] {
  const lines = stderr().split('\n')
  const whole = lines.filter((line) => line.startsWith('{') && line.endsWith('}'))
  return whole.map((line) => JSON.parse(line) as LoggedLine)
}

/** The listening workers and their process ids; the server must log at `info`. */
export function workersOf(
  server: Pick<ServerProcess, 'stderr'>,
): { worker: number; pid: number }[] {
  const lines = loggedLines(server)
  const ended = new Set(
    lines.filter(({ msg }) => msg.startsWith('worker ended')).map(({ worker }) => worker),
  )
  return lines
    .filter(({ msg, worker }) => msg === 'worker is ready' && !ended.has(worker))
    .map(({ worker, pid }) => ({ worker: Number(worker), pid: Number(pid) }))
}
