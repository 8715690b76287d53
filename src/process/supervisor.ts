/** A worker's process, as whoever supervises it sees it. */
type Supervised = {
  readonly id: number
  readonly pid: number
  kill(signal: NodeJS.Signals): void
}

type Options = {
  count: number
  /** Starts a process; `isFirst` until one has started. */
  fork: (isFirst: boolean) => Supervised
  /** Milliseconds from any start. */
  monotonic: () => number
  setTimer: (task: () => unknown, delayMs: number) => void
  events: {
    workerStarted(worker: { worker: number; pid: number }): void
    workerEnded(worker: { worker: number; pid: number; how: string }): void
  }
  /** All is over: every worker has ended after `stop`, or none can be started. */
  onEnd: (code: number, reason?: string) => void
}

/** How a process ended. */
type HowEnded = { code: number | null; signal: NodeJS.Signals | null; signalNumber: number }

export type Supervisor = {
  /** Starts one worker, and the others when it has started. */
  start(): void
  started(id: number): void
  /** It takes no new work: another takes its place before it has ended. */
  leaving(id: number): void
  ended(id: number, how: HowEnded): void
  /** Starts no more. The code is 0 when all end with it. */
  stop(): void
  /** Those that are there, oldest first. */
  running(): readonly Supervised[]
  /** Those of them that have started and will not end. */
  answering(): readonly Supervised[]
}

const deathsWindowMs = 60_000
const firstPauseMs = 250
const pauseMsMax = 10_000
/** So many starts in a row may fail; with no worker left the gateway then ends. */
const failedStartsMax = 5

type Place = { worker: Supervised; isStarted: boolean; isLeaving: boolean }

/** Keeps as many workers running as there should be. */
export function createSupervisor(options: Options): Supervisor {
  const { count, fork, setTimer, events, onEnd } = options
  const places = new Map<number, Place>()
  const answering = () => workersIn(places, (place) => place.isStarted && !place.isLeaving)
  const pauses = createPauses(options)
  let failedStarts = 0
  let hasBegun = false
  let isStopping = false
  let exitCode = 0

  const begin = (): void => {
    const worker = fork(!hasBegun)
    places.set(worker.id, { worker, isStarted: false, isLeaving: false })
  }
  const replace = (): void => {
    const delayMs = pauses.next()
    if (delayMs === 0) begin()
    else setTimer(() => isStopping || begin(), delayMs)
  }
  const end = (code: number, reason?: string): void => {
    isStopping = true
    onEnd(code, reason)
  }
  const endedWhileStopping = ({ isStarted }: Place, code: number): void => {
    // One that had not started has nothing to finish.
    if (code !== 0 && isStarted) exitCode = 1
    if (places.size === 0) end(hasBegun ? exitCode : code)
  }
  const endedByItself = ({ isStarted, isLeaving }: Place, code: number): void => {
    // It has told why.
    if (!hasBegun) return end(code)
    failedStarts = isStarted ? 0 : failedStarts + 1
    if (failedStarts >= failedStartsMax && answering().length === 0) return end(1, cannotStart)
    if (!isLeaving) replace()
  }
  return {
    start: begin,
    started: (id) => {
      const place = places.get(id)
      if (place === undefined) return
      place.isStarted = true
      failedStarts = 0
      events.workerStarted({ worker: id, pid: place.worker.pid })
      if (hasBegun) return
      hasBegun = true
      if (!isStopping) for (let others = 1; others < count; others++) begin()
    },
    leaving: (id) => {
      const place = places.get(id)
      if (place === undefined || place.isLeaving) return
      place.isLeaving = true
      if (!isStopping) replace()
    },
    ended: (id, how) => {
      const place = places.get(id)
      if (place === undefined) return
      places.delete(id)
      const code = how.code ?? 128 + how.signalNumber
      if (isStopping) return endedWhileStopping(place, code)
      if (hasBegun) events.workerEnded(toldEnd(place, how))
      endedByItself(place, code)
    },
    stop: () => {
      isStopping = true
      if (places.size === 0) end(exitCode)
    },
    running: () => workersIn(places),
    answering,
  }
}

function toldEnd({ worker: { id, pid } }: Place, { code, signal }: HowEnded) {
  return { worker: id, pid, how: signal ?? `exit code ${code}` }
}

function workersIn(
  places: ReadonlyMap<number, Place>,
  is: (place: Place) => boolean = () => true,
): Supervised[] {
  return [...places.values()].filter(is).map(({ worker }) => worker)
}

/** The pause before a process is replaced grows with the times that each of them ended lately. */
function createPauses({ count, monotonic }: Pick<Options, 'count' | 'monotonic'>) {
  let deaths: number[] = []
  return {
    next: (): number => {
      const now = monotonic()
      deaths = [...deaths.filter((at) => now - at < deathsWindowMs), now]
      const rounds = Math.floor((deaths.length - 1) / count)
      return rounds === 0 ? 0 : Math.min(firstPauseMs * 2 ** (rounds - 1), pauseMsMax)
    },
  }
}

const cannotStart =
  'Its workers end at their start, again and again. The lines above say why; WORKERS=1 starts a single process.'
