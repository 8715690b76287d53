import { createQueue, type Queue } from './queue.ts'

/** Why memory is refused: the account's share or the budget is used up, or the request exceeds the budget. */
export type Refusal = 'account' | 'process' | 'never'

/** An answer on its way to a client, or a body from it. */
export type Transfer = {
  /** The total bytes transferred so far. */
  moved(): number
  /** Closes a connection that is too slow; the memory of its request is released before. */
  cut(): void
  /** The longest pause while memory is not short; unlimited when absent. */
  idleTimeoutMs?: number
}

/** Part of the budget for new work. The rest is reserved for finishing accepted work. */
export const newWorkShare = 3 / 4
/** Part of the budget for answers; while it is used up, answers of upstreams wait for memory. */
export const answersShare = 1 / 4
/** Answers below this size, which are most, never wait for memory. */
const waitingBytesMin = 65_536
/** An answer is refused after it has waited this many grace periods for memory. */
const waitGracePeriodsMax = 5
/** An account may hold this multiple of the free memory: a single account gets three quarters. */
export const accountFactor = 3
/** A transfer of fewer bytes within the grace period counts as paused. */
const movedBytesMin = 16_384
const sweepMsMax = 500

/** More requests that wait for memory for large pictures are refused. */
const reservingMax = 256

/** The memory of one request. */
export type RequestMemory = {
  readonly accountId: string | undefined
  readonly bytes: number
  /** Bytes of the memory for large pictures that are reserved for this request. */
  readonly reserved: number
  growAnswer(bytes: number): void
  release(): void
}

export type Watched = { memory: RequestMemory; transfer: Transfer; moved: number; movedAt: number }
/** The decision about an upstream's answer that needs more memory. */
export type AnswerDecision = 'go' | 'wait' | 'refuse'
/** An upstream's answer that waits for memory for its next `bytes`. */
export type Waiting = {
  memory: RequestMemory
  bytes: number
  go: () => void
  refuse: () => void
  since: number
}
export type MemoryBudgetOptions = {
  bytesMax: number
  /** The memory for large pictures, beside `bytesMax`; as much as `bytesMax` when absent. */
  pictureBytesMax?: number
  /** How long a transfer may pause before its connection is closed for its memory. */
  graceMs: number
  /** Milliseconds of a monotonic clock. */
  now: () => number
  /** Receives the number of bytes that became garbage. */
  onGarbage?: (bytes: number) => void
}

/** The memory of each request, the answers that wait for memory, and the transfers that pause. */
export class MemoryLedger {
  readonly bytesMax: number
  readonly pictureBytesMax: number
  readonly graceMs: number
  readonly now: () => number
  /** Reports bytes that became garbage. */
  readonly countGarbage: (bytes: number) => void
  readonly accounts = new Map<string, number>()
  readonly watched = new Set<Watched>()
  readonly waiting = new Set<Waiting>()
  /** Requests that reserve memory for large pictures, in order. */
  readonly reserving: Queue
  bytes = 0
  /** Bytes of answers of upstreams and for unread answers. */
  answerBytes = 0
  /** The one answer that may exceed the share of answers, so that at least one answer can finish. */
  overdrawn: RequestMemory | undefined
  /** Time without blocks of the event loop, so that pauses of the process do not count as pauses of transfers. */
  #aliveMs = 0
  #sweptAt = 0
  #timer: NodeJS.Timeout | undefined
  #serves = false

  constructor({
    bytesMax,
    pictureBytesMax = bytesMax,
    graceMs,
    now,
    onGarbage = () => undefined,
  }: MemoryBudgetOptions) {
    this.countGarbage = onGarbage
    this.bytesMax = bytesMax
    this.pictureBytesMax = Math.max(bytesMax, pictureBytesMax)
    this.reserving = createQueue({
      bytesMax: this.pictureBytesMax,
      waitingMax: reservingMax,
      full: () => new Error('Too many requests wait for the memory of large pictures.'),
    })
    this.graceMs = graceMs
    this.now = now
  }

  count(accountId: string | undefined, bytes: number): void {
    this.bytes += bytes
    if (accountId !== undefined) {
      const sum = (this.accounts.get(accountId) ?? 0) + bytes
      if (sum === 0) this.accounts.delete(accountId)
      else this.accounts.set(accountId, sum)
    }
    if (bytes >= 0) return
    this.countGarbage(-bytes)
    if (this.waiting.size > 0) this.#serveSoon()
  }

  /** The refusal of these bytes, when only `share` of the budget is available; undefined when they fit. */
  refusal(bytes: number, accountId: string | undefined, share: number): Refusal | undefined {
    const isAnswer = share === answersShare
    const isLarge = isAnswer && bytes > waitingBytesMin
    if (isLarge && this.answerBytes + bytes > this.bytesMax * share) return 'process'
    const left = this.bytesMax * (isAnswer ? 1 : share) - this.bytes - bytes
    if (left < 0) return 'process'
    if (accountId === undefined) return undefined
    const own = (this.accounts.get(accountId) ?? 0) + bytes
    return own > accountFactor * left ? 'account' : undefined
  }

  /** Ends as many paused transfers as needed; returns the refusal if the memory is still short. */
  refusalAfterCuts(bytes: number, accountId: string | undefined, share: number) {
    const refusal = this.refusal(bytes, accountId, share)
    if (refusal === undefined || this.watched.size === 0) return refusal
    const latest = this.#aliveMs - this.graceMs
    const paused = [...this.watched].filter(({ movedAt }) => movedAt <= latest)
    for (const one of paused.toSorted((a, b) => a.movedAt - b.movedAt)) {
      const left = this.refusal(bytes, accountId, share)
      if (left === undefined) return undefined
      this.#look(one)
      const isInTheWay = left === 'process' || one.memory.accountId === accountId
      if (isInTheWay && one.movedAt <= latest) this.#cut(one)
    }
    return this.refusal(bytes, accountId, share)
  }

  watch(memory: RequestMemory, transfer: Transfer): Watched {
    const watched = { memory, transfer, moved: transfer.moved(), movedAt: this.#aliveMs }
    this.watched.add(watched)
    this.#sweep()
    return watched
  }

  wait(waiting: Omit<Waiting, 'since'>): void {
    this.waiting.add({ ...waiting, since: this.#aliveMs })
    this.#sweep()
  }

  /** Updates the progress of a transfer. */
  #look(one: Watched): void {
    const moved = one.transfer.moved()
    if (Math.abs(moved - one.moved) < movedBytesMin) return
    one.moved = moved
    one.movedAt = this.#aliveMs
  }

  #cut({ memory, transfer }: Watched): void {
    memory.release()
    transfer.cut()
  }

  #serveSoon(): void {
    if (this.#serves) return
    this.#serves = true
    setImmediate(() => {
      this.#serves = false
      this.#serve()
    })
  }

  /** Continues waiting answers that now fit, the longest waiting first. */
  #serve(): void {
    for (const one of this.waiting) {
      const { memory, bytes, go, refuse, since } = one
      const decision = this.decide(memory, bytes, since)
      if (decision === 'wait') continue
      this.waiting.delete(one)
      if (decision === 'refuse') refuse()
      else go()
    }
  }

  /** Must be called when an answer is complete or has failed. */
  settle(memory: RequestMemory): void {
    if (this.overdrawn === memory) this.overdrawn = undefined
  }

  /** Decides about an answer that needs more bytes; counts them when it may continue. */
  decide(memory: RequestMemory, bytes: number, since = this.#aliveMs): AnswerDecision {
    const { accountId } = memory
    const fits = this.refusalAfterCuts(bytes, accountId, answersShare) === undefined
    if (!fits) {
      const isOver = this.overdrawn === memory
      if (!isOver && this.overdrawn !== undefined) return 'wait'
      // The answer waits for the grace period, after which paused transfers are ended.
      const mayFree = this.watched.size > 0 && this.#aliveMs - since < this.graceMs
      if (!isOver && mayFree) return 'wait'
      const isLate = this.#aliveMs - since > waitGracePeriodsMax * this.graceMs
      const isMost = this.bytes + bytes > this.bytesMax
      // The overdrawn answer must not wait for other answers, since those may wait for its end.
      const isHopeless = isOver || memory.bytes + bytes > this.bytesMax || isLate
      if (isMost) return isHopeless ? 'refuse' : 'wait'
      this.overdrawn = memory
    }
    memory.growAnswer(bytes)
    return 'go'
  }

  #sweep(): void {
    if (this.#timer !== undefined) return
    const pauseMs = Math.max(1, Math.min(sweepMsMax, this.graceMs / 4))
    this.#sweptAt = this.now()
    this.#timer = setInterval(() => {
      const now = this.now()
      this.#aliveMs += Math.min(now - this.#sweptAt, 2 * pauseMs)
      this.#sweptAt = now
      if (this.watched.size + this.waiting.size === 0) {
        clearInterval(this.#timer)
        this.#timer = undefined
        return
      }
      for (const one of this.watched) {
        this.#look(one)
        const isInTheWay = this.reserving.waiting() > 0 && one.memory.reserved > 0
        const pauseMaxMs = isInTheWay ? this.graceMs : (one.transfer.idleTimeoutMs ?? Infinity)
        if (this.#aliveMs - one.movedAt >= pauseMaxMs) this.#cut(one)
      }
      this.#serve()
    }, pauseMs).unref()
  }
}
