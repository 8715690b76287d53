import { causeOf } from '../telemetry/cause.ts'
import { fork, type ChildProcess } from 'node:child_process'
import { createServer, type AddressInfo } from 'node:net'
import { constants } from 'node:os'
import { siteAddress, workerCount, type Loaded } from '../settings/config.ts'
import { listenFailure, StartError } from './start-failure.ts'
import { closingMs, leave } from './stop.ts'
import { takeFolder } from './take-folder.ts'
import { createLog, type Log } from '../telemetry/log.ts'
import { createWorkerMetrics } from '../telemetry/worker-metrics.ts'
import { createSupervisor, type Supervisor } from './supervisor.ts'
import type { ToPrimary, ToWorker } from './worker.ts'

type PrimaryOptions = {
  settings: Loaded
  /** The file that a worker runs. */
  program: string
  exit: (code: number) => void
  /** Prints to the operator. */
  print: (text: string) => void
}

/** Added to the time limit for a worker to stop. */
const spareMs = 2000

/**
 * Starts the workers, replaces workers that end, and forwards signals (docs/workers.md). The primary
 * serves no requests. Throws a StartError if Redis is not configured or the port is in use, and a
 * StoreError if another gateway uses DATA_DIR.
 */
export async function runPrimary({
  settings,
  program,
  exit,
  print,
}: PrimaryOptions): Promise<void> {
  const { config, secrets } = settings
  const count = workerCount(config)
  if (secrets.redisUrl === undefined) throw new StartError(withoutRedis(count))
  const log = createLog(config)
  const events = createPrimaryEvents(log)
  const lock = await takeFolder(settings, events.folderTaken)
  const port = await findPort(config)
  lock?.listensAt(siteAddress({ ...config, port }))
  const workers = createWorkers({
    program,
    port,
    onError: events.faulted,
    onMessage: (id, message) => handlers[message.kind](id, message as never),
    onExit: (id, how) => {
      metrics.ended(id)
      supervisor.ended(id, how)
    },
  })
  const metrics = createWorkerMetrics((id) => workers.send(id, { kind: 'read_metrics' }))
  const supervisor = createSupervisor({
    count,
    fork: workers.fork,
    monotonic: () => Math.trunc(performance.now()),
    setTimer: setTimeout,
    events,
    onEnd: (code, reason) => {
      if (reason !== undefined) print(`${reason}\n`)
      if (code === 0) events.stopped()
      void leave(log, () => exit(code))
    },
  })
  let allListen = false
  const handlers: Handlers = {
    listening: (id) => {
      supervisor.started(id)
      metrics.joined(id)
      const answering = supervisor.answering()
      allListen ||= answering.length === count
      if (allListen) for (const one of answering) workers.send(one.id, { kind: 'all_listen' })
    },
    port_closed: (id) => {
      supervisor.leaving(id)
      // Calls in progress need the store, but not the folder lock.
      if (supervisor.answering().length === 0) lock?.release()
    },
    ask_metrics: (id) =>
      metrics.read().then((text) => workers.send(id, { kind: 'metrics', text }), events.faulted),
    metrics: (id, { reading }) => metrics.answered(id, reading),
  }
  const endMs = config.limits.drainTimeoutMs + closingMs + spareMs
  forwardSignals({ send: workers.send, supervisor, events, endMs, exit })
  supervisor.start()
}

type Handlers = {
  [Kind in ToPrimary['kind']]: (id: number, message: Extract<ToPrimary, { kind: Kind }>) => unknown
}

function withoutRedis(count: number): string {
  return (
    `WORKERS: ${count} workers need Redis to share limits and cached answers. Start one, for example with ` +
    '`apt-get install redis-server`, and set REDIS_URL=redis://127.0.0.1:6379, or set WORKERS=1.'
  )
}

/**
 * Resolves with the port; for port 0 the system chooses one. Listens on the port first to detect another
 * program there, which workers would not notice, since they share ports (SO_REUSEPORT). Rejects with a
 * StartError.
 */
function findPort({ host, port }: { host: string; port: number }): Promise<number> {
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => reject(listenFailure(cause, { host, port })))
    server.listen({ host, port }, () => {
      // A server that listens on TCP has an AddressInfo.
      const { port: found } = server.address() as AddressInfo
      server.close(() => resolve(found))
    })
  })
}

type WorkersOptions = {
  program: string
  port: number
  onError: (error: unknown) => void
  onMessage: (id: number, message: ToPrimary) => void
  onExit: (id: number, how: Parameters<Supervisor['ended']>[1]) => void
}

/** The processes of the workers. */
function createWorkers({ program, port, onError, onMessage, onExit }: WorkersOptions) {
  const children = new Map<number, ChildProcess>()
  let last = 0
  return {
    fork: (isFirst: boolean) => {
      const id = ++last
      const words = ['worker', String(id), String(port), isFirst ? 'first' : 'later']
      // JSON would lose the metrics' values NaN and Infinity.
      const child = fork(program, words, { serialization: 'advanced' })
      const ended = (code: number | null, signal: NodeJS.Signals | null) => {
        children.delete(id)
        onExit(id, { code, signal, signalNumber: signal ? constants.signals[signal] : 0 })
      }
      children.set(id, child)
      child.on('message', (message) => onMessage(id, message as ToPrimary))
      child.on('exit', ended)
      child.on('error', (error) => {
        onError(error)
        // A process that failed to start emits no exit event.
        if (child.pid === undefined) ended(1, null)
      })
      const kill = (signal: NodeJS.Signals) => void child.kill(signal)
      return { id, pid: child.pid ?? 0, kill }
    },
    /** A message to a worker that has ended is lost. */
    send: (id: number, message: ToWorker) => void children.get(id)?.send(message, () => undefined),
  }
}

type Signals = {
  send: (id: number, message: ToWorker) => void
  supervisor: Supervisor
  events: ReturnType<typeof createPrimaryEvents>
  /** Workers still running after this time are killed. */
  endMs: number
  exit: (code: number) => void
}

/** Handles signals for all workers, as process/signals.ts does for a single process. */
function forwardSignals({ send, supervisor, events, endMs, exit }: Signals): void {
  let isStopping = false
  const killAll = () => {
    for (const worker of supervisor.running()) worker.kill('SIGKILL')
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (isStopping) {
        killAll()
        return exit(128 + constants.signals[signal])
      }
      isStopping = true
      events.stopping(signal)
      const answering = new Set(supervisor.answering())
      for (const worker of supervisor.running()) {
        send(worker.id, { kind: 'signal', signal })
        // Ends a worker that has not started, which has nothing to finish; others ignore it.
        if (!answering.has(worker)) worker.kill('SIGTERM')
      }
      setTimeout(killAll, endMs).unref()
      supervisor.stop()
    })
  }
  process.on('SIGHUP', () => {
    if (isStopping) return
    const [first, ...others] = supervisor.answering()
    if (first !== undefined) send(first.id, { kind: 'signal', signal: 'SIGHUP' })
    for (const { id } of others) send(id, { kind: 'reread' })
  })
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const)
    process.on(signal, () => events.ignored(signal))
}

function createPrimaryEvents(log: Log) {
  return {
    workerStarted(started: { worker: number; pid: number }): void {
      log.info(started, 'worker is ready')
    },
    workerEnded(ended: { worker: number; pid: number; how: string }): void {
      log.error(ended, 'worker ended, restarting it')
    },
    /** Another gateway uses the folder of the store; the primary waits until that gateway ends. */
    folderTaken(text: string): void {
      log.warn(text)
    },
    faulted(error: unknown): void {
      log.error({ cause: causeOf(error) }, 'error in inter-process communication')
    },
    /** A signal without effect was received. */
    ignored(signal: string): void {
      log.warn({ signal }, 'signal ignored')
    },
    stopping(signal: string): void {
      log.info({ signal }, 'draining')
    },
    stopped(): void {
      log.info('stopped')
    },
  }
}
