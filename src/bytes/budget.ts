import {
  Books,
  accountFactor,
  newWorkShare,
  type BudgetOptions,
  type Fate,
  type Peer,
  type Refusal,
  type Watched,
} from './books.ts'

/** The bytes that the process may hold for all requests together. */
export type Budget = {
  /** What one request holds: nothing yet. */
  open(): Hold
  /** The bytes that are held. */
  bytes(): number
}

/**
 * Counts the bytes that are held and divides them: an account may hold three times what it leaves to
 * others, and whoever pauses loses the room to new work (docs/behaviour.md#memory).
 */
export function createBudget(options: BudgetOptions): Budget {
  const books = new Books(options)
  return { open: () => new Hold(books), bytes: () => books.bytes }
}

/**
 * What one request holds: its body, its upstreams' answers, its own answer until it is read. A class,
 * since one is made for every request. Once released it counts nothing any more.
 */
export class Hold {
  readonly #books: Books
  #watched: Set<Watched> | undefined
  accountId: string | undefined
  bytes = 0
  #answerBytes = 0
  #isReleased = false

  constructor(books: Books) {
    this.#books = books
  }

  /** Names the account whose share it is; to be called before anything is held. */
  own(accountId: string): void {
    if (this.bytes === 0) this.accountId = accountId
  }

  /** For new work: takes the bytes, or tells why not. */
  take(bytes: number): Refusal | undefined {
    const books = this.#books
    if (this.#isReleased || bytes === 0) return undefined
    const most = (books.bytesMax * newWorkShare * accountFactor) / (accountFactor + 1)
    if (this.bytes + bytes > most) return 'never'
    const refusal = books.refusalAfterCuts(bytes, this.accountId, newWorkShare)
    if (refusal === undefined) this.grow(bytes)
    return refusal
  }

  /** For work that was taken: takes the bytes unless that is more than there are at all. */
  takeMore(bytes: number): Refusal | undefined {
    const books = this.#books
    if (this.#isReleased) return undefined
    if (this.bytes + bytes > books.bytesMax) return 'never'
    if (books.refusalAfterCuts(bytes, undefined, 1) === 'process') return 'process'
    this.grow(bytes)
    return undefined
  }

  /**
   * For an upstream's answer: takes the bytes and says `go`, or `refuse`; or has it wait, and calls the
   * one or the other of these functions later.
   */
  draw(bytes: number, go: () => void, refuse: () => void): Fate {
    if (this.#isReleased) return 'go'
    const fate = this.#books.fateOf(this, bytes)
    if (fate === 'wait') this.#books.wait({ hold: this, bytes, go, refuse })
    return fate
  }

  /** Waits no longer for what `draw` would call. Whether it did wait. */
  leave(go: () => void): boolean {
    for (const one of this.#books.waiting) {
      if (one.go === go) return this.#books.waiting.delete(one)
    }
    return false
  }

  /** Counts bytes that are there already. */
  grow(bytes: number): void {
    if (this.#isReleased) return
    this.bytes += bytes
    this.#books.count(this.accountId, bytes)
  }

  give(bytes: number): void {
    this.grow(-Math.min(bytes, this.bytes))
  }

  /** Counts bytes of an upstream's answer that are there. */
  growAnswer(bytes: number): void {
    if (this.#isReleased) return
    this.grow(bytes)
    this.#answerBytes += bytes
    this.#books.answerBytes += bytes
  }

  /** Gives back what was drawn for an answer. */
  giveAnswer(bytes: number): void {
    this.growAnswer(-Math.min(bytes, this.#answerBytes))
  }

  /** Holds this many bytes of an answer from now on, and nothing else. */
  keep(bytes: number): void {
    if (this.#isReleased) return
    if (bytes !== this.bytes) this.grow(bytes - this.bytes)
    this.#books.answerBytes += bytes - this.#answerBytes
    this.#answerBytes = bytes
    this.#books.settle(this)
  }

  /** Watches who has to take or send what is held, until the returned function is called. */
  watch(peer: Peer): () => void {
    if (this.#isReleased) return () => undefined
    const all = (this.#watched ??= new Set())
    const watched = this.#books.watch(this, peer)
    all.add(watched)
    return () => {
      all.delete(watched)
      this.#books.watched.delete(watched)
    }
  }

  /** Gives everything back. */
  release(): void {
    if (this.#isReleased) return
    this.keep(0)
    this.#isReleased = true
    const books = this.#books
    for (const one of this.#watched ?? []) books.watched.delete(one)
    if (books.waiting.size > 0) {
      for (const one of books.waiting) if (one.hold === this) books.waiting.delete(one)
    }
  }
}

/** What is held beside the requests, and is bounded by other means. */
export const uncounted: Hold = createBudget({
  bytesMax: Infinity,
  now: () => performance.now(),
}).open()

/** Smaller requests block the event loop for less than a millisecond a step. */
const largeBytes = 512 * 1024

/**
 * Yields to the event loop between two steps of a large request, so that others are answered.
 * Undefined for a small request, which goes on at once.
 */
export function yieldIfLarge({ bytes }: Pick<Hold, 'bytes'>): Promise<void> | undefined {
  return bytes < largeBytes ? undefined : new Promise((resolve) => setImmediate(resolve))
}
