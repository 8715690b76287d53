/** What one process asks of Redis (`limit-script.ts`). Lists, since they go there as JSON. */
export type LimitOperation = TakeOperation | EndOperation | LookOperation | BeatOperation

/** Takes all or nothing. Answered with 1 or 0 and what `look` answers; what was taken is counted in it. */
export type TakeOperation = readonly [
  name: 'take',
  callId: string,
  /** What the call has of the calls at once ends then at the latest. */
  lastsMs: number,
  windows: readonly (readonly [key: string, limit: number, points: number])[],
  calls: readonly (readonly [ownerId: string, limit: number])[],
]

/**
 * Ends a call, more than once if need be. `more` is what it used of a window beyond its points; less
 * than 0 only counts in the window that was open then. Answered with nothing.
 */
export type EndOperation = readonly [
  name: 'end',
  callId: string,
  windows: readonly (readonly [key: string, openedAs: number, more: number])[],
  ownerIds: readonly string[],
]

/**
 * Answered with `used`, `leftMs` and a number that names the open window for each key, 0 where none is,
 * and then the calls of each owner.
 */
export type LookOperation = readonly [
  name: 'look',
  keys: readonly string[],
  ownerIds: readonly string[],
]

/** Says that the process is there; or that it ends. Answered with how many are. */
export type BeatOperation = readonly [name: 'beat' | 'leave']

/** Carries out what is asked in one message; an answer for each operation, in their order. */
export type LimitExchange = (
  operations: readonly LimitOperation[],
) => Promise<readonly (readonly number[])[]>
