import type { Hold } from '../../bytes/budget.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { UpstreamControl, UpstreamHead } from './dispatch.ts'

/** How much more than has arrived is asked for at most, where the length is not announced. */
const aheadBytesMax = 1024 * 1024

type Options = {
  hold: Hold
  /** How often each byte is held. */
  copies: number
  control: () => UpstreamControl
  abort: (reason: ProviderFailure) => void
}

/** Room for an answer, drawn before its bytes are read: without room the answer rests. */
export type Drawing = {
  /** To be called with the head: what it announces is drawn at once, up to `bytesMax`. */
  announce(head: Pick<UpstreamHead, 'headers'>, bytesMax: number): void
  /** To be called with the sum of what has arrived. */
  arrived(bytes: number): void
  /** All of it has arrived, and is held from now on. */
  settle(): void
  /** Gives everything back. Whether it was resting. */
  giveBack(): boolean
}

/** Draws on what the call may hold (docs/behaviour.md#memory). */
export function drawOn({ hold, copies, control, abort }: Options): Drawing {
  let drawn = 0
  let here = 0
  let asked = 0
  const draw = (bytes: number) => {
    asked = bytes
    const fate = hold.draw(bytes, go, refuse)
    if (fate === 'go') took()
    else if (fate === 'wait') control().pause()
    else refuse()
  }
  const took = () => {
    drawn += asked
    asked = 0
  }
  const go = () => {
    took()
    control().resume()
    if (here > drawn) draw(here - drawn)
  }
  const refuse = () => {
    asked = 0
    abort(noMemory())
  }
  const leave = (): boolean => {
    const rests = asked > 0 && hold.leave(go)
    asked = 0
    return rests
  }
  return {
    announce: ({ headers }, bytesMax) => {
      const bytes = copies * Math.min(Number(headers['content-length'] ?? 0), bytesMax)
      if (bytes > 0) draw(bytes)
    },
    arrived: (bytes) => {
      here = bytes * copies
      if (here <= drawn || asked > 0) return
      draw(Math.max(here - drawn, Math.min(drawn, aheadBytesMax)))
    },
    settle: () => {
      leave()
      // What did not wait to be let in is there nevertheless.
      hold.growAnswer(here - drawn)
      drawn = here
    },
    giveBack: () => {
      const rests = leave()
      hold.giveAnswer(drawn)
      drawn = 0
      return rests
    },
  }
}

/** The failure of a call for whose answer nothing is left. */
export function noMemory(): ProviderFailure {
  return new ProviderFailure('no_memory', 'There is no memory left for the answer.')
}
