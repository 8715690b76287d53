/** A worker process. */
type Supervised = {
  readonly id: number
  readonly pid: number
  kill(signal: NodeJS.Signals): void
}

type Options = {
  count: number
  /** Starts a process; `isFirst` is true until a process is ready. */
  fork: (isFirst: boolean) => Supervised
  /** A monotonic clock in milliseconds. */
  monotonic: () => number
  setTimer: (task: () => unknown, delayMs: number) => void
  events: {
    workerStarted(worker: { worker: number; pid: number }): void
    workerEnded(worker: { worker: number; pid: number; how: string }): void
  }
  /** Called when every worker has ended after `stop`, or when none can be started. */
  onEnd: (code: number, reason?: string) => void
}

/** How a process ended. */
type HowEnded = { code: number | null; signal: NodeJS.Signals | null; signalNumber: number }

export type Supervisor = {
  /** Starts one worker, and the others after it is ready. */
  start(): void
  started(id: number): void
  /** The worker accepts no new requests; a replacement is started before it has ended. */
  leaving(id: number): void
  ended(id: number, how: HowEnded): void
  /** Starts no more workers. The exit code is 0 if all end with 0. */
  stop(): void
  /** All running workers, oldest first. */
  running(): readonly Supervised[]
  /** Running workers that are ready and not stopping. */
  answering(): readonly Supervised[]
}

const deathsWindowMs = 60_000
const firstPauseMs = 250
const pauseMsMax = 10_000
/** Maximum of failed starts in a row; if no worker is left then, the gateway ends. */
const failedStartsMax = 5

type Place = { worker: Supervised; isStarted: boolean; isLeaving: boolean }

/** Keeps `count` workers running. */
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
    // A worker that was not ready has no requests to finish, so its exit code does not count.
    if (code !== 0 && isStarted) exitCode = 1
    if (places.size === 0) end(hasBegun ? exitCode : code)
  }
  const endedByItself = ({ isStarted, isLeaving }: Place, code: number): void => {
    // The worker has already printed the reason.
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
      if (hasBegun) events.workerEnded(describeEnd(place, how))
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

function describeEnd({ worker: { id, pid } }: Place, { code, signal }: HowEnded) {
  return { worker: id, pid, how: signal ?? `exit code ${code}` }
}

function workersIn(
  places: ReadonlyMap<number, Place>,
  is: (place: Place) => boolean = () => true,
): Supervised[] {
  return [...places.values()].filter(is).map(({ worker }) => worker)
}

/** The pause before a restart doubles with the average number of recent ends per worker. */
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
  'Its workers repeatedly end at their start. See the log lines above for the reason; WORKERS=1 starts a single process.'
