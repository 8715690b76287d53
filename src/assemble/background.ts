import { createImageJobs, type JobStore } from '../accounts/image-jobs.ts'
import { runningCalls } from '../accounts/background-rows.ts'
import { createProcessLeases } from '../accounts/process-leases.ts'
import type { ResponseStore } from '../accounts/stored-responses.ts'
import type { Sweep } from '../accounts/sweep.ts'
import { createSumFolding } from '../accounts/usage/sum-folding.ts'
import { createBackgroundCalls, type BackgroundCalls } from '../core/resilience/background-calls.ts'
import type { TakeOver } from '../v1/image-jobs/take-over.ts'
import { createJobPartials } from '../v1/image-jobs/job-partials.ts'
import type { Environment, StoreParts } from './store.ts'

type Needed = Pick<Environment, 'config' | 'events' | 'clock' | 'monotonic'>
type Executed = Pick<StoreParts, 'store' | 'encryption'> & {
  storedResponses: ResponseStore
  onEvent: () => void
  /** The generation that finishes jobs of processes that have ended. */
  current: () => { takeOver: TakeOver }
}

/** Builds what goes on without a connection: image jobs, responses in the background, and the sums of usage. */
export function assembleBackground(environment: Needed, executed: Executed) {
  const { config, events, clock, monotonic } = environment
  const { store, encryption, onEvent } = executed
  const { limits } = config
  const imageJobs = createImageJobs({
    store,
    encryption,
    limits,
    onEvent,
    clock,
    monotonic,
  })
  const backgroundCalls = createBackgroundCalls({
    running: (ids) => runningCalls(store.db, ids),
    onFault: events.faulted,
    limits,
  })
  const leases = leasesOf(environment, { ...executed, imageJobs, backgroundCalls })
  const onSwept = (error?: unknown) => events.worked('sum_folding', error)
  const sumFolding = createSumFolding({ store, clock, onSwept })
  return {
    imageJobs,
    backgroundCalls,
    jobPartials: createJobPartials(),
    sumDeltasWaiting: sumFolding.waiting,
    close: () => {
      leases.close()
      sumFolding.close()
    },
  }
}

/** Jobs of other processes that this process finishes at a time. */
const adoptedMax = 20

/** Takes over the jobs and responses of processes that have ended. */
function leasesOf(
  { clock, events, config }: Needed,
  {
    store,
    storedResponses,
    imageJobs,
    backgroundCalls,
    current,
  }: Executed & { imageJobs: JobStore; backgroundCalls: BackgroundCalls },
): Sweep {
  let adopted = 0
  return createProcessLeases({
    store,
    clock,
    intervalMs: config.limits.processLeaseMs,
    isBusy: backgroundCalls.isBusy,
    adopt: async (owner) => {
      await storedResponses.failAll(owner)
      const jobs = await imageJobs.adopt(owner, adoptedMax - adopted)
      adopted += jobs.length
      // Not awaited, since tasks take minutes.
      for (const job of jobs)
        void current()
          .takeOver(job)
          .finally(() => adopted--)
    },
    onSwept: (error) => events.worked('process_leases', error),
  })
}
