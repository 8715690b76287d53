import type { Claim } from '../../core/recall/in-flight.ts'
import type { Remembered } from '../../core/recall/remembered.ts'
import type { PrimaryLine } from '../../peers/primary-line.ts'
import { within } from '../../peers/within.ts'
import { topics, type Passed, type Place, type State, type Turn } from './claim-judge.ts'
import type { Seal } from './seal.ts'

type Options = {
  line: PrimaryLine
  seal: Seal
  /** Of a message. */
  bytesMax: number
  /** Of a question. */
  timeoutMs: () => number
  recallFar: (key: string) => Promise<Remembered | undefined>
  /** Milliseconds until a waiting worker asks again: what it was told may be lost. */
  askAgainMs?: number
}

/**
 * Joins identical calls of several workers: the primary knows who makes what. Where it does not answer
 * each makes its own answer.
 */
export function createPrimaryClaims(options: Options): (key: string) => Claim<Remembered> {
  const open = new Map<number, PrimaryClaim>()
  options.line.on(topics.turn, (message) => {
    const turn = message as Turn
    open.get(turn.id)?.hear(turn)
  })
  let last = 0
  return (key) => {
    const id = ++last
    const claim = new PrimaryClaim({ key, id }, options)
    open.set(id, claim)
    void claim.elsewhere.finally(() => open.delete(id))
    return claim
  }
}

/** One is made for every call that may be answered from the cache. */
class PrimaryClaim implements Claim<Remembered> {
  readonly elsewhere: Promise<Remembered | undefined>
  readonly #place: Place
  readonly #options: Options
  #isMine = false
  #isOver = false
  #turn: Turn | undefined
  #wake: (() => void) | undefined

  constructor(place: Place, options: Options) {
    this.#place = place
    this.#options = options
    this.elsewhere = this.#look().catch(() => undefined)
  }

  hear(turn: Turn): void {
    this.#turn = turn
    this.#wake?.()
  }

  leave(): void {
    if (this.#isOver) return
    this.#end(topics.leave)
    this.#wake?.()
  }

  succeed(answer: Remembered, kept: Promise<boolean> | undefined): void {
    if (this.#isMine) void this.#finish(answer, kept)
    else this.leave()
  }

  async #finish(answer: Remembered, kept: Promise<boolean> | undefined): Promise<void> {
    // Before it is there, nobody else may be told that it is.
    const isKept = (await kept) === true
    if (isKept) return this.#end(topics.kept)
    // Whoever waits makes it where this fails.
    await this.#pass(answer).catch(() => this.#end(topics.leave))
  }

  /** Tells the primary once that nothing more comes of this claim. */
  #end(topic: typeof topics.leave | typeof topics.kept): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#options.line.tell(topic, this.#place)
  }

  async #look(): Promise<Remembered | undefined> {
    const { recallFar } = this.#options
    const { key } = this.#place
    // Both are one message.
    let [state, answer] = await Promise.all([this.#claim(), recallFar(key)])
    while (state === 'waits' && answer === undefined && !this.#isOver) {
      const turn = await this.#turnOrTimeout()
      if (turn?.outcome === 'passed') return this.#open(turn.bytes)
      if (turn?.outcome === 'kept') answer = await recallFar(key)
      if (this.#isOver || answer !== undefined) break
      // What was kept may be gone already.
      state = turn?.outcome === 'mine' ? 'mine' : await this.#claim()
      if (state === 'mine') answer = await recallFar(key)
    }
    if (answer !== undefined) this.#end(state === 'mine' ? topics.kept : topics.leave)
    this.#isMine = !this.#isOver && state === 'mine'
    return answer
  }

  async #claim(): Promise<State> {
    return (await this.#ask(topics.claim)) as State
  }

  #ask(topic: typeof topics.claim | typeof topics.unkept): Promise<unknown> {
    const { line, timeoutMs } = this.#options
    return within(timeoutMs(), line.ask(topic, this.#place))
  }

  async #turnOrTimeout(): Promise<Turn | undefined> {
    const { askAgainMs = 1000 } = this.#options
    if (this.#turn === undefined) {
      const woken = Promise.withResolvers<void>()
      this.#wake = woken.resolve
      const timer = setTimeout(woken.resolve, askAgainMs)
      await woken.promise
      clearTimeout(timer)
    }
    const turn = this.#turn
    this.#turn = undefined
    return turn
  }

  #open(bytes: Uint8Array | undefined): Remembered | undefined {
    this.#isOver = true
    if (bytes === undefined) return undefined
    const { buffer, byteOffset, byteLength } = bytes
    return this.#options.seal.open(this.#place.key, Buffer.from(buffer, byteOffset, byteLength))
  }

  /** Gives an answer that is not kept to whoever waits for it. */
  async #pass(answer: Remembered): Promise<void> {
    const { line, seal, bytesMax } = this.#options
    const isWanted = await this.#ask(topics.unkept)
    if (this.#isOver) return
    this.#isOver = true
    if (isWanted !== true) return
    const isTooLarge = answer.bytes > bytesMax / 2
    const bytes = isTooLarge ? undefined : seal.close(this.#place.key, answer)
    line.tell(topics.pass, { ...this.#place, bytes } satisfies Passed)
  }
}
