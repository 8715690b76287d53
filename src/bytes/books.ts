/** Why bytes cannot be had: the share of an account, all of it, or more than one request ever gets. */
export type Refusal = 'account' | 'process' | 'never'

/** The other side of a connection: who reads an answer or sends a body, perhaps too slowly. */
export type Peer = {
  /** A number that changes by the bytes that move. */
  moved(): number
  /** Ends it, since it moves too little; what its request holds is given back before. */
  cut(): void
  /** How long it may pause though nobody needs the room; for ever when absent. */
  idleTimeoutMs?: number
}

/** Part of the budget that is there for new work. The rest lets work that was taken come to its end. */
export const newWorkShare = 3 / 4
/** Part of the budget that answers may take together; beyond it those of upstreams wait. */
const answersShare = 1 / 4
/** Smaller answers, which most are, wait for none. */
const waitingBytesMin = 65_536
/** For how many graces an answer waits where all is taken: nobody might ever give it. */
const hopeGraces = 5
/** How many times what is left an account may hold: a lone one gets three quarters. */
export const accountFactor = 3
/** Who moves fewer bytes within the grace counts as one who pauses. */
const movedBytesMin = 16_384
const sweepMsMax = 500

/** What a request holds, as the books see it. */
export type Holder = {
  readonly accountId: string | undefined
  readonly bytes: number
  growAnswer(bytes: number): void
  release(): void
}

export type Watched = { hold: Holder; peer: Peer; moved: number; movedAt: number }
/** What becomes of an upstream's answer that needs more bytes. */
export type Fate = 'go' | 'wait' | 'refuse'
/** An upstream's answer that rests until there is room for the next `bytes` of it. */
export type Waiting = {
  hold: Holder
  bytes: number
  go: () => void
  refuse: () => void
  since: number
}

export type BudgetOptions = {
  bytesMax: number
  /** How long who is slow may pause before others get the room. */
  graceMs?: number | undefined
  /** Milliseconds of a clock that nobody sets. */
  now: () => number
  /** Told of bytes that are given back. */
  onGiven?: (bytes: number) => void
}

/** Long enough for a lost packet to be repeated; beyond it the memory goes to active peers. */
const graceStandardMs = 2000

/** Who holds how much, who waits for room, and who pauses while holding. */
export class Books {
  readonly bytesMax: number
  readonly graceMs: number
  readonly now: () => number
  readonly accounts = new Map<string, number>()
  readonly watched = new Set<Watched>()
  readonly waiting = new Set<Waiting>()
  bytes = 0
  /** Those among them of upstreams' answers, and of answers that nobody has read. */
  answerBytes = 0
  /** The one answer that may go beyond its part of the budget, so that one always comes to its end. */
  overdrawn: Holder | undefined
  /** Time in which bytes could move: while the process itself stands still nobody is slow. */
  #aliveMs = 0
  #sweptAt = 0
  readonly #onGiven: (bytes: number) => void
  #timer: NodeJS.Timeout | undefined
  #serves = false

  constructor({
    bytesMax,
    graceMs = graceStandardMs,
    now,
    onGiven = () => undefined,
  }: BudgetOptions) {
    this.#onGiven = onGiven
    this.bytesMax = bytesMax
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
    this.#onGiven(-bytes)
    if (this.waiting.size > 0) this.#serveSoon()
  }

  /** Why these bytes are too many, when only a part of the budget is there for them. */
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

  /** The same, after those who pause have lost what they hold, as far as it is needed. */
  refusalAfterCuts(bytes: number, accountId: string | undefined, share: number) {
    const refusal = this.refusal(bytes, accountId, share)
    if (refusal === undefined || this.watched.size === 0) return refusal
    const latest = this.#aliveMs - this.graceMs
    const paused = [...this.watched].filter(({ movedAt }) => movedAt <= latest)
    for (const one of paused.toSorted((a, b) => a.movedAt - b.movedAt)) {
      const left = this.refusal(bytes, accountId, share)
      if (left === undefined) return undefined
      this.#look(one)
      const isInTheWay = left === 'process' || one.hold.accountId === accountId
      if (isInTheWay && one.movedAt <= latest) this.#cut(one)
    }
    return this.refusal(bytes, accountId, share)
  }

  watch(hold: Holder, peer: Peer): Watched {
    const watched = { hold, peer, moved: peer.moved(), movedAt: this.#aliveMs }
    this.watched.add(watched)
    this.#sweep()
    return watched
  }

  wait(waiting: Omit<Waiting, 'since'>): void {
    this.waiting.add({ ...waiting, since: this.#aliveMs })
    this.#sweep()
  }

  /** Notes whether it has moved. */
  #look(one: Watched): void {
    const moved = one.peer.moved()
    if (Math.abs(moved - one.moved) < movedBytesMin) return
    one.moved = moved
    one.movedAt = this.#aliveMs
  }

  #cut({ hold, peer }: Watched): void {
    hold.release()
    peer.cut()
  }

  #serveSoon(): void {
    if (this.#serves) return
    this.#serves = true
    setImmediate(() => {
      this.#serves = false
      this.#serve()
    })
  }

  /** Lets the answers go on for which there is room now, the longest waiting first. */
  #serve(): void {
    for (const one of this.waiting) {
      const { hold, bytes, go, refuse, since } = one
      const fate = this.fateOf(hold, bytes, since)
      if (fate === 'wait') continue
      this.waiting.delete(one)
      if (fate === 'refuse') refuse()
      else go()
    }
  }

  /** An answer has arrived as a whole, or never will. */
  settle(hold: Holder): void {
    if (this.overdrawn === hold) this.overdrawn = undefined
  }

  /** What becomes of an answer that needs more bytes; they are counted when it goes on. */
  fateOf(hold: Holder, bytes: number, since = this.#aliveMs): Fate {
    const { accountId } = hold
    const fits = this.refusalAfterCuts(bytes, accountId, answersShare) === undefined
    if (!fits) {
      const isOver = this.overdrawn === hold
      if (!isOver && this.overdrawn !== undefined) return 'wait'
      // Who is slow loses first, and has the grace until then.
      const mayFree = this.watched.size > 0 && this.#aliveMs - since < this.graceMs
      if (!isOver && mayFree) return 'wait'
      const isLate = this.#aliveMs - since > hopeGraces * this.graceMs
      const isMost = this.bytes + bytes > this.bytesMax
      // Others may wait for the one that is over, so that it must not wait for them.
      const isHopeless = isOver || hold.bytes + bytes > this.bytesMax || isLate
      if (isMost) return isHopeless ? 'refuse' : 'wait'
      this.overdrawn = hold
    }
    hold.growAnswer(bytes)
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
        if (this.#aliveMs - one.movedAt >= (one.peer.idleTimeoutMs ?? Infinity)) this.#cut(one)
      }
      this.#serve()
    }, pauseMs).unref()
  }
}
