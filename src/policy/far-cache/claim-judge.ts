import type { WorkerId, WorkerLines } from '../../peers/worker-lines.ts'

/** A claim of one worker, by the worker's number for it. */
export type Place = { key: string; id: number }
export type State = 'mine' | 'waits'
/** `kept`: the answer is in the far cache. `passed`: it is here, unless it was too large. */
export type Turn =
  | { id: number; outcome: 'mine' | 'kept' }
  | { id: number; outcome: 'passed'; bytes: Uint8Array | undefined }
export type Passed = Place & { bytes: Uint8Array | undefined }

export const topics = {
  claim: 'claims.claim',
  leave: 'claims.leave',
  kept: 'claims.kept',
  unkept: 'claims.unkept',
  pass: 'claims.pass',
  turn: 'claims.turn',
} as const

type Waiter = { worker: WorkerId; id: number }
type Held = { maker: Waiter; waiting: Waiter[] }

/** Who makes what, and who waits for it: the primary's part. */
export function judgeClaims(lines: Pick<WorkerLines, 'answer' | 'on' | 'tell' | 'onEnded'>): {
  held: () => number
} {
  const held = new Map<string, Held>()
  const isOf = (worker: WorkerId, id: number) => (one: Waiter) =>
    one.worker.id === worker.id && one.id === id
  const tell = ({ worker, id }: Waiter, turn: Pick<Turn, 'outcome'> & { bytes?: unknown }) =>
    lines.tell(topics.turn, { ...turn, id }, worker)
  const end = (key: string, turn: Parameters<typeof tell>[1]): void => {
    const { waiting = [] } = held.get(key) ?? {}
    held.delete(key)
    for (const one of waiting) tell(one, turn)
  }
  const passOn = (key: string, one: Held): void => {
    const next = one.waiting.shift()
    if (next === undefined) return void held.delete(key)
    one.maker = next
    tell(next, { outcome: 'mine' })
  }
  const remove = (key: string, one: Held, leaves: (waiter: Waiter) => boolean): void => {
    one.waiting = one.waiting.filter((waiter) => !leaves(waiter))
    if (leaves(one.maker)) passOn(key, one)
  }
  /** What the sender makes. */
  const madeBy = (message: unknown, worker: WorkerId): { key: string; one: Held } | undefined => {
    const { key, id } = message as Place
    const one = held.get(key)
    return one !== undefined && isOf(worker, id)(one.maker) ? { key, one } : undefined
  }
  lines.answer(topics.claim, (question, worker): State => {
    const { key, id } = question as Place
    const one = held.get(key)
    if (one === undefined) held.set(key, { maker: { worker, id }, waiting: [] })
    else if (!isOf(worker, id)(one.maker)) {
      if (!one.waiting.some(isOf(worker, id))) one.waiting.push({ worker, id })
      return 'waits'
    }
    return 'mine'
  })
  lines.on(topics.leave, (message, worker) => {
    const { key, id } = message as Place
    const one = held.get(key)
    if (one !== undefined) remove(key, one, isOf(worker, id))
  })
  lines.on(topics.kept, (message, worker) => {
    const made = madeBy(message, worker)
    if (made !== undefined) end(made.key, { outcome: 'kept' })
  })
  lines.answer(topics.unkept, (question, worker) => {
    const made = madeBy(question, worker)
    if (made === undefined || made.one.waiting.length > 0) return made !== undefined
    held.delete(made.key)
    return false
  })
  lines.on(topics.pass, (message, worker) => {
    const made = madeBy(message, worker)
    if (made !== undefined) end(made.key, { outcome: 'passed', bytes: (message as Passed).bytes })
  })
  lines.onEnded((worker) => {
    for (const [key, one] of held) remove(key, one, (waiter) => waiter.worker.id === worker.id)
  })
  return { held: () => held.size }
}
