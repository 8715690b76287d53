import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../test/support/until.ts'
import type { Attack, Context, Dose, Failure, Outcome } from './attack.ts'
import { descriptorsOf, processMiB, processPeakMiB, resetPeak } from './watch.ts'

/** Load that a gateway carries until `release`. */
export type HeldLoad = {
  /** Ends the load; returns the failures that occurred during the load. */
  release(): Promise<Failure[]> | Failure[]
}

type Dosed = {
  name: string
  /** The size of the small dose. The large dose has four times this size. */
  counts: Record<Dose, number>
  isHurried?: true
  hold(context: Context, count: number): Promise<HeldLoad>
}

const times = 4
/** Holds the load until memory is stable, at most this long. */
const holdMsMax = 3000
const quickHoldMs = 50
const lookMs = 100
const stillMiB = 2
const stillLooks = 5
/** The large dose may take twice the memory of the small one, plus normal growth of a heap. */
const growthTimesMax = 2
const growthMiBFree = 48
const descriptorsFree = 16
const closedWithinMs = 15_000

/**
 * An attack in two doses: four times the load must not take four times the memory, nor leak
 * descriptors.
 *
 * @example
 * const hold = async ({ target }: Context, count: number) => {
 *   const opened = Array.from({ length: count }, () => openConnection(target.url))
 *   const sockets = await Promise.all(opened)
 *   return { release: () => sockets.flatMap((socket) => (socket.destroy(), [])) }
 * }
 * const silent = dosed({ name: 'silent-connections', counts: { quick: 10, full: 100 }, hold })
 */
export function dosed({ name, counts, hold, isHurried }: Dosed): Attack {
  return {
    name,
    needsFresh: true,
    ...(isHurried && { isHurried }),
    run: async (context) => {
      const { processId } = context.target
      const count = counts[context.dose]
      if (context.dose === 'quick') return quickOutcome(await hold(context, count), count)
      const startMiB = processMiB(processId)
      const descriptors = descriptorsOf(processId)
      const small = await held(context, await timed(hold, context, count))
      const large = await held(context, await timed(hold, context, count * times))
      const grown = [small, large].map(({ peakMiB }) => Math.max(0, peakMiB - startMiB))
      const [one = 0, four = 0] = grown
      const isProportional = four > growthTimesMax * one + growthMiBFree
      const failures = [
        ...small.failures,
        ...large.failures,
        ...(isProportional ? [growthFailure(one, four)] : []),
        ...(await descriptorFaults(processId, descriptors)),
      ]
      const figures = {
        'small dose': `+${one.toFixed(0)} MiB`,
        'four times': `+${four.toFixed(0)} MiB`,
      }
      return { tried: count * (1 + times), failures, figures } satisfies Outcome
    },
  }
}

/** Does not compare memory and descriptors, because other attacks use the gateway at the same time. */
async function quickOutcome({ release }: HeldLoad, count: number): Promise<Outcome> {
  await sleep(quickHoldMs)
  return { tried: count, failures: [...(await release())] }
}

async function timed(hold: Dosed['hold'], context: Context, count: number): Promise<HeldLoad> {
  resetPeak(context.target.processId)
  return hold(context, count)
}

async function held(
  { target }: Context,
  { release }: HeldLoad,
): Promise<{ peakMiB: number; failures: Failure[] }> {
  await untilMemoryIsStable(target.processId, holdMsMax)
  const failures = await release()
  return { peakMiB: processPeakMiB(target.processId), failures }
}

async function untilMemoryIsStable(processId: number, limitMs: number): Promise<void> {
  const giveUpAt = performance.now() + limitMs
  for (let looks = 0, before = 0; looks < stillLooks && performance.now() < giveUpAt;) {
    const now = processMiB(processId)
    looks = Math.abs(now - before) < stillMiB ? looks + 1 : 0
    before = now
    await sleep(lookMs)
  }
}

function growthFailure(one: number, four: number): Failure {
  const what = `The small dose takes ${one.toFixed(0)} MiB, four times as much ${four.toFixed(0)} MiB.`
  return { what, request: '' }
}

/** After the load the process must have about as many descriptors as before. */
async function descriptorFaults(processId: number, before: number): Promise<Failure[]> {
  const isBack = () => !(descriptorsOf(processId) > before + descriptorsFree)
  try {
    await until('descriptors are closed', isBack, closedWithinMs)
    return []
  } catch {
    const what = `${descriptorsOf(processId)} descriptors stay open, of ${before} before.`
    return [{ what, request: '' }]
  }
}
