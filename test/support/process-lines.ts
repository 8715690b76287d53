import { createPrimaryLine, type PrimaryLine } from '../../src/peers/primary-line.ts'
import type { LineLimits } from '../../src/peers/line.ts'
import type { Pipe } from '../../src/peers/pipe.ts'
import { createWorkerLines, type WorkerId, type WorkerLines } from '../../src/peers/worker-lines.ts'

/** A primary and its workers in one process: what they send is copied, as between processes. */
export type ProcessLines = {
  primary: WorkerLines
  workers: readonly (PrimaryLine & { id: WorkerId; end: () => void })[]
  /** Messages that went over pipes so far, both ways. */
  messages: () => number
  faults: unknown[]
  /** From now on nothing arrives at the primary, until it is called again. */
  freeze: () => () => void
}

const limits: LineLimits = {
  questionsMax: 1000,
  answerTimeoutMs: 1000,
  messageBytesMax: 1_000_000,
}

export function processLines(
  count: number,
  {
    monotonic = () => performance.now(),
    ...own
  }: Partial<LineLimits> & { monotonic?: () => number } = {},
): ProcessLines {
  const faults: unknown[] = []
  const options = {
    limits: { ...limits, ...own },
    monotonic,
    onFault: (error: unknown) => void faults.push(error),
  }
  const primary = createWorkerLines(options)
  let messages = 0
  let frozen: (() => void)[] | undefined
  const carry = (run: () => void) => (frozen === undefined ? setImmediate(run) : frozen.push(run))
  const workers = Array.from({ length: count }, (_, index) => {
    const id = { id: index + 1, pid: 100 + index }
    const { near, far, end } = pipes(() => messages++, carry)
    primary.join(id, far)
    return { ...createPrimaryLine({ ...options, pipe: near }), id, end }
  })
  return {
    primary,
    workers,
    messages: () => messages,
    faults,
    freeze: () => {
      frozen = []
      return () => {
        const late = frozen ?? []
        frozen = undefined
        for (const run of late) run()
      }
    },
  }
}

/** Both ends of a channel. */
function pipes(count: () => void, carry: (run: () => void) => unknown) {
  const ends: (() => void)[] = []
  const make = () => {
    const hears: ((message: unknown) => void)[] = []
    return { hears, onMessage: (listener: (message: unknown) => void) => void hears.push(listener) }
  }
  const [one, other] = [make(), make()]
  let isOpen = true
  const to =
    (hears: ((message: unknown) => void)[]): Pipe['send'] =>
    (message, onSent) => {
      const copy: unknown = structuredClone(message)
      count()
      if (!isOpen) return onSent(new Error('The channel is closed.'))
      carry(() => {
        onSent(null)
        if (isOpen) for (const hear of hears) hear(copy)
      })
    }
  const onEnd = (listener: () => void) => void ends.push(listener)
  return {
    near: { send: to(other.hears), onMessage: one.onMessage, onEnd },
    far: { send: to(one.hears), onMessage: other.onMessage, onEnd },
    end: () => {
      isOpen = false
      for (const listener of ends) listener()
    },
  }
}
