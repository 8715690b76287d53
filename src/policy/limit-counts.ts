/** What a call takes of a window: `points`, or a look at it where they are 0. */
export type WindowNeed = {
  readonly of: { readonly key: string; readonly limit: number }
  readonly points: number
}
/** A limit of the calls that an owner has at once. */
export type CallsNeed = { readonly ownerId: string; readonly limit: number }

/** What a call takes of all its limits. */
export type Needs = {
  readonly windows: readonly WindowNeed[]
  readonly calls: readonly CallsNeed[]
  /** How long the call may last: what it has of the calls at once ends then at the latest. */
  readonly timeoutMs: number
}

/** How limits stand, each list in the order in which they were asked for. */
export type Counted = {
  /** What is used of the open window, and how long it stays open; 0 where none is. */
  readonly windows: readonly { readonly used: number; readonly leftMs: number }[]
  /** Calls under way, by those who count them. */
  readonly running: () => readonly number[]
  /** Among how many processes each limit is divided; 1 where all count as one. */
  readonly processes: number
}

/** What was taken, or what kept the call out. */
export type Taken = Counted & {
  /**
   * Ends the call; `more` is what it used of each window beyond its points, which may be less than 0:
   * that is given back only to the window it was taken of. Undefined where a limit keeps the call out:
   * then nothing is counted.
   */
  readonly end: ((more?: readonly number[]) => void) | undefined
}

/** Where the windows and the calls at once of all owners are counted (docs/behaviour.md#rate-limits). */
export type LimitCounts = {
  /** Takes all that a call needs, or nothing. */
  take(needs: Needs): Taken | Promise<Taken>
  /** How limits stand; what they ask for is not looked at. */
  look(needs: Pick<Needs, 'windows' | 'calls'>): Counted | Promise<Counted>
  /** How many windows and owners of running calls are in the memory of this process. */
  size(): number
}

/** The part of a limit that one of several processes counts; never none of a limit that lets through. */
export function shareOf(limit: number, processes: number): number {
  return limit === 0 ? 0 : Math.max(1, Math.floor(limit / processes))
}

/** Whether a window has room. What is larger than a share gets an unused one to itself. */
export function hasRoom(
  { of: { limit }, points }: WindowNeed,
  used: number,
  processes: number,
): boolean {
  if (points === 0 || used + points <= shareOf(limit, processes)) return true
  return used === 0 && points <= limit
}
