import { createOutbox, type LineEntry, type LineGroup, type NotTaken } from './outbox.ts'
import type { Pipe } from './pipe.ts'

/** One end of the line between a worker and the primary (docs/workers.md#the-line). */
export type Line = {
  /** Resolves with the answer of the other process. Throws a LineError. */
  ask(topic: string, question: unknown): Promise<unknown>
  /** Nobody learns whether it arrived. */
  tell(topic: string, message: unknown): void
}

/** What comes in over one line, or over several. */
export type Topics<Sender> = {
  /** Whoever asks gets what this gives, or a LineError where it throws. */
  answer(topic: string, handler: (question: unknown, sender: Sender) => unknown): void
  /** Hears what is told. */
  on(topic: string, listener: (message: unknown, sender: Sender) => void): void
}

/**
 * `no_answer`: not in time. `too_many`: too much waits. `too_large`: larger than a message may be.
 * `ended`: the other process is gone. `failed`: it could not answer.
 */
export type LineErrorReason = NotTaken | 'no_answer' | 'ended' | 'failed'

/** A question has no answer. */
export class LineError extends Error {
  override name = 'LineError'
  readonly reason: LineErrorReason

  constructor(reason: LineErrorReason, message: string = texts[reason]) {
    super(message)
    this.reason = reason
  }
}

const texts: Record<LineErrorReason, string> = {
  no_answer: 'The other process did not answer in time.',
  too_many: 'Too much waits for the other process.',
  too_large: 'The message to the other process is too large.',
  ended: 'The other process has ended.',
  failed: 'The other process could not answer.',
}

/** Bounds of a line. */
export type LineLimits = {
  /** Questions that wait for an answer. */
  questionsMax: number
  answerTimeoutMs: number
  messageBytesMax: number
}

/** The bounds that settings give a line. */
export function lineLimits(limits: {
  primaryQuestionsMax: number
  primaryAnswerTimeoutMs: number
  primaryMessageBytesMax: number
}): LineLimits {
  return {
    questionsMax: limits.primaryQuestionsMax,
    answerTimeoutMs: limits.primaryAnswerTimeoutMs,
    messageBytesMax: limits.primaryMessageBytesMax,
  }
}

/** Who answers and who listens, by topic. */
export type Registry<Sender> = Topics<Sender> & {
  handlers: ReadonlyMap<string, (question: unknown, sender: Sender) => unknown>
  listeners: ReadonlyMap<string, readonly ((message: unknown, sender: Sender) => void)[]>
}

export function createRegistry<Sender>(): Registry<Sender> {
  const handlers = new Map<string, (question: unknown, sender: Sender) => unknown>()
  const listeners = new Map<string, ((message: unknown, sender: Sender) => void)[]>()
  return {
    handlers,
    listeners,
    answer: (topic, handler) => {
      if (handlers.has(topic)) throw new Error(`Topic ${topic} is answered already.`)
      handlers.set(topic, handler)
    },
    on: (topic, listener) => {
      listeners.set(topic, [...(listeners.get(topic) ?? []), listener])
    },
  }
}

type Options<Sender> = {
  pipe: Pipe
  registry: Registry<Sender>
  /** Who is at the other end. */
  sender: Sender
  limits: LineLimits
  /** Milliseconds from any start. */
  monotonic: () => number
  /** A message was lost, or what hears or answers has failed. */
  onFault: (error: unknown) => void
}

/** Joins this process to another over a pipe. */
export function createLine<Sender>(options: Options<Sender>): Line {
  const { pipe, registry, sender, limits, onFault } = options
  const questions = createQuestions(options)
  const lost = (entry: LineEntry, error: LineError): void => {
    if (entry[0] === 'ask') questions.refuse(entry[1], error)
    else if (error.reason !== 'ended') onFault(error)
  }
  const outbox = createOutbox({
    pipe,
    messageBytesMax: limits.messageBytesMax,
    onUnsent: (entries, cause) => {
      const error = new LineError(questions.hasEnded() ? 'ended' : 'failed', cause.message)
      for (const entry of entries) lost(entry, error)
    },
  })
  const write = (entry: LineEntry): void => {
    const notTaken = outbox.write(entry)
    if (notTaken !== undefined) lost(entry, new LineError(notTaken))
  }
  const refuse = (id: number, error: unknown): void => {
    onFault(error)
    write(['refusal', id, texts.failed])
  }
  const reply = (id: number, answer: unknown): void => {
    const notTaken = outbox.write(['answer', id, answer])
    if (notTaken !== undefined) refuse(id, new LineError(notTaken))
  }
  const answer = (id: number, topic: string, question: unknown): void => {
    try {
      const handler = registry.handlers.get(topic)
      if (handler === undefined) throw new Error(`Nobody answers the topic ${topic}.`)
      const given = handler(question, sender)
      if (!(given instanceof Promise)) return reply(id, given)
      // Without waiting where there is no promise: the answers of a group are then one message too.
      given.then(
        (value) => reply(id, value),
        (error: unknown) => refuse(id, error),
      )
    } catch (error) {
      refuse(id, error)
    }
  }
  const hear = (topic: string, message: unknown): void => {
    for (const listener of registry.listeners.get(topic) ?? []) {
      try {
        listener(message, sender)
      } catch (error) {
        onFault(error)
      }
    }
  }
  pipe.onMessage((message) => {
    for (const entry of entriesOf(message)) {
      if (entry[0] === 'ask') answer(entry[1], entry[2], entry[3])
      else if (entry[0] === 'tell') hear(entry[1], entry[2])
      else if (entry[0] === 'answer') questions.settle(entry[1], entry[2])
      else questions.refuse(entry[1], new LineError('failed', entry[2]))
    }
  })
  pipe.onEnd(questions.end)
  return {
    ask: (topic, question) => questions.ask((id) => write(['ask', id, topic, question])),
    tell: (topic, message) => write(['tell', topic, message]),
  }
}

type Waiting = { promise: PromiseWithResolvers<unknown>; until: number }

/** The questions that wait for an answer, oldest first: all wait equally long. */
function createQuestions<Sender>({ limits, monotonic }: Options<Sender>) {
  const { questionsMax, answerTimeoutMs } = limits
  const waiting = new Map<number, Waiting>()
  let last = 0
  let ended = false
  /** From an answer that is missing to the next that comes. */
  let isSilent = false
  let timer: NodeJS.Timeout | undefined
  const refuse = (id: number, error: LineError): void => {
    waiting.get(id)?.promise.reject(error)
    waiting.delete(id)
  }
  const look = (): void => {
    timer = undefined
    for (const [id, { until }] of waiting) {
      if (until > monotonic()) return lookIn(until - monotonic())
      isSilent = true
      refuse(id, new LineError('no_answer'))
    }
  }
  const lookIn = (delayMs: number): void => {
    timer ??= setTimeout(look, delayMs).unref()
  }
  const refusal = (): LineErrorReason | undefined => {
    if (ended) return 'ended'
    // Whether it answers again is tried by one question at a time; the others do not wait for it.
    if (isSilent && waiting.size > 0) return 'no_answer'
    return waiting.size >= questionsMax ? 'too_many' : undefined
  }
  return {
    refuse,
    hasEnded: () => ended,
    ask: (send: (id: number) => void): Promise<unknown> => {
      const refused = refusal()
      if (refused !== undefined) return Promise.reject(new LineError(refused))
      const promise = Promise.withResolvers<unknown>()
      const id = ++last
      waiting.set(id, { promise, until: monotonic() + answerTimeoutMs })
      lookIn(answerTimeoutMs)
      send(id)
      return promise.promise
    },
    settle: (id: number, answer: unknown): void => {
      isSilent = false
      waiting.get(id)?.promise.resolve(answer)
      waiting.delete(id)
    },
    end: (): void => {
      ended = true
      for (const id of waiting.keys()) refuse(id, new LineError('ended'))
    },
  }
}

/** What this process sends by itself, and `node:cluster`, are no groups. */
function entriesOf(message: unknown): readonly LineEntry[] {
  const { line } = (message ?? {}) as Partial<LineGroup>
  return Array.isArray(line) ? line : []
}
