import type { MemoryHold } from '../../bytes/memory-budget.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { UpstreamControl, UpstreamHead } from './dispatch.ts'

/** Maximum memory reserved beyond the received bytes of an answer without an announced length. */
const aheadBytesMax = 1024 * 1024

type Options = {
  memory: MemoryHold
  /** How many copies of each byte are in memory. */
  copies: number
  control: () => UpstreamControl
  abort: (reason: ProviderFailure) => void
}

/**
 * Memory for an answer within the call's limit, reserved before its bytes are read; reading pauses while memory is
 * short (docs/behaviour.md#memory).
 */
export function reserveAnswerMemory({ memory, copies, control, abort }: Options) {
  let drawn = 0
  let here = 0
  let wanted = 0
  const draw = (bytes: number) => {
    wanted = bytes
    const fate = memory.draw(bytes, go, refuse)
    if (fate === 'go') took()
    else if (fate === 'wait') control().pause()
    else refuse()
  }
  const took = () => {
    drawn += wanted
    wanted = 0
  }
  const go = () => {
    took()
    control().resume()
    if (here > drawn) draw(here - drawn)
  }
  const refuse = () => {
    wanted = 0
    abort(noMemory())
  }
  const leave = (): boolean => {
    const rests = wanted > 0 && memory.leave(go)
    wanted = 0
    return rests
  }
  return {
    /** Call with the head: reserves the announced length, up to `bytesMax`. */
    announce: ({ headers }: Pick<UpstreamHead, 'headers'>, bytesMax: number) => {
      const bytes = copies * Math.min(Number(headers['content-length'] ?? 0), bytesMax)
      if (bytes > 0) draw(bytes)
    },
    /** Call with the total of received bytes. */
    arrived: (bytes: number) => {
      here = bytes * copies
      if (here <= drawn || wanted > 0) return
      draw(Math.max(here - drawn, Math.min(drawn, aheadBytesMax)))
    },
    /** The answer has arrived completely, and stays in memory from now on. */
    settle: () => {
      leave()
      // Counts the bytes that were received without a reservation, since they are in memory too.
      memory.growAnswer(here - drawn)
      drawn = here
    },
    /** Releases all memory. Returns whether the answer was waiting for memory. */
    giveBack: () => {
      const rests = leave()
      memory.giveAnswer(drawn)
      drawn = 0
      return rests
    },
  }
}

/** The failure of a call when memory for its answer runs out. */
export function noMemory(): ProviderFailure {
  return new ProviderFailure('no_memory', 'Not enough memory for the answer.')
}
