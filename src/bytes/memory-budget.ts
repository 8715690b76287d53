import {
  MemoryLedger,
  accountFactor,
  answersShare,
  newWorkShare,
  type MemoryBudgetOptions,
  type AnswerDecision,
  type Transfer,
  type Refusal,
  type Watched,
} from './memory-ledger.ts'

/** Size of a large request: steps of a smaller request block the event loop for less than 1 ms. */
const largeBytes = 512 * 1024

/** The bytes that the process may hold for all requests together. */
export type MemoryBudget = ReturnType<typeof createMemoryBudget>

/**
 * Counts the memory of requests and limits it: an account may hold three times the free memory, and paused
 * transfers are ended when new work needs memory (docs/behaviour.md#memory).
 */
export function createMemoryBudget(options: MemoryBudgetOptions) {
  const ledger = new MemoryLedger(options)
  return {
    /** Starts to count the memory of one request. */
    open: () => new MemoryHold(ledger),
    /** The bytes in use. */
    bytes: () => ledger.bytes + ledger.reserving.taken(),
    pictureBytesMax: ledger.pictureBytesMax,
  }
}

/**
 * The memory of one request: its body, its upstreams' answers, and its own answer until the client has read
 * it. A class, since every request creates an instance. After `release` no bytes are counted.
 */
export class MemoryHold {
  readonly #ledger: MemoryLedger
  #watched: Set<Watched> | undefined
  accountId: string | undefined
  bytes = 0
  /** Memory for large pictures; with it the request is not counted in the budget. */
  reserved = 0
  #answerBytes = 0
  #unreserve: (() => void) | undefined
  #isReleased = false

  constructor(ledger: MemoryLedger) {
    this.#ledger = ledger
  }

  /** Sets the account to charge; must be called before any memory is taken. */
  own(accountId: string): void {
    if (this.bytes === 0) this.accountId = accountId
  }

  /** Takes bytes for new work, or returns the refusal. */
  take(bytes: number): Refusal | undefined {
    const ledger = this.#ledger
    if (this.#isReleased || bytes === 0) return undefined
    const most = (ledger.bytesMax * newWorkShare * accountFactor) / (accountFactor + 1)
    if (this.bytes + bytes > most) return 'never'
    const refusal = ledger.refusalAfterCuts(bytes, this.accountId, newWorkShare)
    if (refusal === undefined) this.grow(bytes)
    return refusal
  }

  /**
   * Reserves memory for large pictures before they are paid. Waits in order; rejects with the reason of `signal`,
   * or when too many requests wait.
   */
  async reserve(planned: number, signal: AbortSignal): Promise<void> {
    const { reserving, pictureBytesMax, bytesMax } = this.#ledger
    // Smaller answers wait for their memory when they arrive.
    if (this.#isReleased || planned <= bytesMax * answersShare) return
    // Pictures that may need more than all memory are made alone: most are smaller than planned.
    const bytes = Math.min(planned, pictureBytesMax)
    const end = await reserving.enter({ bytes, signal })
    if (this.#isReleased) return end()
    if (this.reserved === 0) {
      this.#ledger.count(this.accountId, -this.bytes)
      this.#ledger.answerBytes -= this.#answerBytes
    }
    this.reserved += bytes
    const before = this.#unreserve
    this.#unreserve = () => {
      before?.()
      end()
    }
  }

  /** Takes bytes for accepted work, or returns the refusal when the whole budget is used up. */
  takeMore(bytes: number): Refusal | undefined {
    const ledger = this.#ledger
    if (this.#isReleased) return undefined
    // Pictures that exceed the reserved memory get the memory of all other requests on top.
    if (this.bytes + bytes > this.reserved + ledger.bytesMax) return 'never'
    if (this.reserved > 0) this.growAnswer(bytes)
    else if (ledger.refusalAfterCuts(bytes, undefined, 1) === 'process') return 'process'
    else this.grow(bytes)
    return undefined
  }

  /**
   * Takes bytes for an upstream's answer and returns `go`, or returns `refuse`; after `wait` the function
   * `go` or `refuse` is called later.
   */
  draw(bytes: number, go: () => void, refuse: () => void): AnswerDecision {
    if (this.#isReleased) return 'go'
    if (this.reserved > 0) return this.takeMore(bytes) === undefined ? 'go' : 'refuse'
    const decision = this.#ledger.decide(this, bytes)
    if (decision === 'wait') this.#ledger.wait({ memory: this, bytes, go, refuse })
    return decision
  }

  /** Cancels the wait of a `draw`; returns whether that was still waiting. */
  leave(go: () => void): boolean {
    for (const one of this.#ledger.waiting) {
      if (one.go === go) return this.#ledger.waiting.delete(one)
    }
    return false
  }

  /** Counts bytes that are already allocated. */
  grow(bytes: number): void {
    if (this.#isReleased) return
    this.bytes += bytes
    if (this.reserved === 0) this.#ledger.count(this.accountId, bytes)
    else if (bytes < 0) this.#ledger.countGarbage(-bytes)
  }

  give(bytes: number): void {
    this.grow(-Math.min(bytes, this.bytes))
  }

  /** Counts bytes of an upstream's answer that are already allocated. */
  growAnswer(bytes: number): void {
    if (this.#isReleased) return
    this.grow(bytes)
    this.#answerBytes += bytes
    if (this.reserved === 0) this.#ledger.answerBytes += bytes
  }

  /** Releases bytes that were drawn for an answer. */
  giveAnswer(bytes: number): void {
    this.growAnswer(-Math.min(bytes, this.#answerBytes))
  }

  /** Releases all bytes and counts this many bytes of an answer. */
  retain(bytes: number): void {
    if (this.#isReleased) return
    if (bytes !== this.bytes) this.grow(bytes - this.bytes)
    if (this.reserved === 0) this.#ledger.answerBytes += bytes - this.#answerBytes
    this.#answerBytes = bytes
    this.#ledger.settle(this)
  }

  /**
   * Yields to the event loop between two steps of a large request, so that other requests can run and the garbage of
   * the step can be collected. Undefined for a small request, which continues at once.
   */
  yieldIfLarge(): Promise<void> | undefined {
    if (this.bytes < largeBytes) return undefined
    // A step leaves about as much garbage as the request holds.
    this.#ledger.countGarbage(this.bytes)
    return new Promise((resolve) => setImmediate(resolve))
  }

  /** Watches the progress of a transfer until the returned function is called. */
  watch(transfer: Transfer): () => void {
    if (this.#isReleased) return () => undefined
    const all = (this.#watched ??= new Set())
    const watched = this.#ledger.watch(this, transfer)
    all.add(watched)
    return () => {
      all.delete(watched)
      this.#ledger.watched.delete(watched)
    }
  }

  /** Releases all bytes. */
  release(): void {
    if (this.#isReleased) return
    this.retain(0)
    this.#isReleased = true
    this.reserved = 0
    this.#unreserve?.()
    const ledger = this.#ledger
    for (const one of this.#watched ?? []) ledger.watched.delete(one)
    if (ledger.waiting.size > 0) {
      for (const one of ledger.waiting) if (one.memory === this) ledger.waiting.delete(one)
    }
  }
}

/** The account of memory outside of requests, which other limits bound. */
export const uncounted: MemoryHold = createMemoryBudget({
  bytesMax: Infinity,
  graceMs: Infinity,
  now: () => performance.now(),
}).open()
