import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../test/support/until.ts'
import type { Attack, Context, Dose, Failure, Outcome } from './attack.ts'
import { descriptorsOf, processMiB, processPeakMiB, resetPeak } from './watch.ts'

/** What is held against a gateway until it is let go. */
export type Grip = {
  /** Lets go, and tells what did not hold meanwhile. */
  release(): Promise<Failure[]> | Failure[]
}

type Dosed = {
  name: string
  /** How many of them the small dose has; the large one has four times as many. */
  counts: Record<Dose, number>
  isHurried?: true
  grip(context: Context, count: number): Promise<Grip>
}

const times = 4
/** Until its memory stands still a gateway is held, at most so long. */
const holdMsMax = 3000
const quickHoldMs = 50
const lookMs = 100
const stillMiB = 2
const stillLooks = 5
/** The large dose may cost twice what the small one does, and what a heap grows by in any case. */
const growthTimesMax = 2
const growthMiBFree = 48
const descriptorsFree = 16
const closedWithinMs = 15_000

/** An attack in two doses: four times as much must not take four times the memory, nor stay open. */
export function dosed({ name, counts, grip, isHurried }: Dosed): Attack {
  return {
    name,
    needsFresh: true,
    ...(isHurried && { isHurried }),
    run: async (context) => {
      const { processId } = context.target
      const count = counts[context.dose]
      if (context.dose === 'quick') return quickOutcome(await grip(context, count), count)
      const startMiB = processMiB(processId)
      const descriptors = descriptorsOf(processId)
      const small = await struck(context, await timed(grip, context, count))
      const large = await struck(context, await timed(grip, context, count * times))
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

/** Others use the same gateway meanwhile: only what the grip itself sees is told. */
async function quickOutcome({ release }: Grip, count: number): Promise<Outcome> {
  await sleep(quickHoldMs)
  return { tried: count, failures: [...(await release())] }
}

async function timed(grip: Dosed['grip'], context: Context, count: number): Promise<Grip> {
  resetPeak(context.target.processId)
  return grip(context, count)
}

async function struck(
  { target }: Context,
  { release }: Grip,
): Promise<{ peakMiB: number; failures: Failure[] }> {
  await memoryStandsStill(target.processId, holdMsMax)
  const failures = await release()
  return { peakMiB: processPeakMiB(target.processId), failures }
}

async function memoryStandsStill(processId: number, limitMs: number): Promise<void> {
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

/** Once everything is let go, the process has about as many descriptors as before. */
async function descriptorFaults(processId: number, before: number): Promise<Failure[]> {
  const isBack = () => !(descriptorsOf(processId) > before + descriptorsFree)
  try {
    await until('descriptors are given back', isBack, closedWithinMs)
    return []
  } catch {
    const what = `${descriptorsOf(processId)} descriptors stay open, of ${before} before.`
    return [{ what, request: '' }]
  }
}
