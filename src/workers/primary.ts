import { constants } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { siteAddress, workerCount, type Loaded } from '../config.ts'
import { lineLimits } from '../peers/line.ts'
import { relayAnnouncements } from '../peers/line-channel.ts'
import { createWorkerLines, workerEnded, type WorkerLines } from '../peers/worker-lines.ts'
import { judgeClaims } from '../policy/far-cache/claim-judge.ts'
import { holdBytes } from '../policy/far-cache/primary-bytes.ts'
import { countForWorkers } from '../policy/counts-for-workers.ts'
import { countAttemptsForWorkers } from '../policy/far-attempts.ts'
import { closingMs } from '../stop.ts'
import { takeFolder } from '../take-folder.ts'
import { createLog } from '../telemetry/log.ts'
import { createPrimaryEvents, type PrimaryEvents } from '../telemetry/primary-events.ts'
import { collectMetrics } from '../telemetry/worker-metrics.ts'
import { createFork } from './fork.ts'
import { keepSettings } from './settings-in-force.ts'
import { topics } from './start.ts'
import { createSupervisor, type Supervisor } from './supervisor.ts'

type Options = {
  settings: Loaded
  exit: (code: number) => void
  /** For those who started it. */
  print: (text: string) => void
}

/** Behind the time that a worker takes to end by itself. */
const spareMs = 2000
const flushMs = 1000

/**
 * The process that workers come from: it takes the port and hands its connections round, answers
 * the workers' questions, and replaces those that end (docs/workers.md). It serves nothing itself.
 * Throws a StoreError when another gateway has the folder of the store.
 */
export async function runPrimary({ settings, exit, print }: Options): Promise<void> {
  const { config } = settings
  const { limits } = config
  const monotonic = () => Math.trunc(performance.now())
  const log = createLog(config.logLevel)
  const events = createPrimaryEvents(log)
  const lock = await takeFolder(settings, events.folderTaken)
  lock?.listensAt(siteAddress(config))
  const lines = createWorkerLines({
    limits: lineLimits(limits),
    monotonic,
    onFault: events.faulted,
  })
  relayAnnouncements(lines)
  keepForAll(settings, lines, monotonic)
  collectMetrics({ lines, answerTimeoutMs: limits.primaryAnswerTimeoutMs })
  countForWorkers({ lines, monotonic, onFault: events.faulted })
  countAttemptsForWorkers({ lines, entriesMax: limits.signInEntriesMax, monotonic })
  const kept = keepSettings({ settings, lines, onFailure: events.notReloaded })
  const leave = async (code: number): Promise<void> => {
    if (code === 0) events.stopped()
    const flushed = new Promise<void>((resolve) => log.flush(() => resolve()))
    await Promise.race([flushed, sleep(flushMs)])
    exit(code)
  }
  const fork = createFork({
    lines,
    onFault: events.faulted,
    onExit: (id, how) => {
      supervisor.ended(id, how)
      const [other] = supervisor.answering()
      if (other !== undefined) lines.tell(workerEnded, null, other)
    },
    othersAnswer: (id) => supervisor.answering().some((one) => one.id !== id),
  })
  let allListen = false
  const supervisor = createSupervisor({
    count: workerCount(config),
    fork: (isFirst) => fork({ ...kept.inForce(), isFirst, allListen }),
    monotonic,
    setTimer: setTimeout,
    events,
    onEnd: (code, reason) => {
      if (reason !== undefined) print(`${reason}\n`)
      void leave(code)
    },
  })
  lines.on(topics.started, (version, worker) => {
    supervisor.started(worker.id)
    kept.begun(worker, Number(version))
    if (allListen || supervisor.answering().length < workerCount(config)) return
    allListen = true
    lines.tell(topics.allListen, null)
  })
  lines.on(topics.leaving, (_message, { id }) => supervisor.leaving(id))
  lines.on(topics.portClosed, (_message, { id }) => {
    supervisor.leaving(id)
    // What still ends needs the store, and not the folder.
    if (supervisor.answering().length === 0) lock?.release()
  })
  const { drainTimeoutMs } = limits
  obeySignals({ lines, supervisor, events, endMs: drainTimeoutMs + closingMs + spareMs, exit })
  supervisor.start()
}

/** What workers remember together; with Redis they do it there. */
function keepForAll(
  { config: { limits }, secrets }: Loaded,
  lines: WorkerLines,
  monotonic: () => number,
): void {
  if (secrets.redisUrl !== undefined) return
  holdBytes({ lines, bytesMax: Math.floor(limits.cacheBytesMax / 2), monotonic })
  judgeClaims(lines)
}

type Obeying = {
  lines: WorkerLines
  supervisor: Supervisor
  events: PrimaryEvents
  /** Workers that have not ended by then are killed. */
  endMs: number
  exit: (code: number) => void
}

/** As `src/signals.ts` has it for a single process, for all workers. */
function obeySignals({ lines, supervisor, events, endMs, exit }: Obeying): void {
  let isStopping = false
  const kill = (signal: NodeJS.Signals, spared: readonly { id: number }[] = []): void => {
    for (const worker of supervisor.running()) {
      if (!spared.some(({ id }) => id === worker.id)) worker.kill(signal)
    }
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (isStopping) {
        kill('SIGKILL')
        return exit(128 + constants.signals[signal])
      }
      isStopping = true
      events.stopping(signal)
      // One that has not started has nothing to finish, and hears nobody.
      kill('SIGTERM', supervisor.answering())
      lines.tell(topics.drain, signal === 'SIGINT' ? { noticeMs: 0 } : {})
      setTimeout(kill, endMs, 'SIGKILL').unref()
      supervisor.stop()
    })
  }
  process.on('SIGHUP', () => {
    const [first] = supervisor.answering()
    if (first !== undefined && !isStopping) lines.tell(topics.reload, null, first)
  })
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const)
    process.on(signal, () => events.ignored(signal))
}
