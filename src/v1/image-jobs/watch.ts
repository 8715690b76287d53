import { GatewayError } from '../../core/error.ts'

type Options = {
  /** Those of these jobs that have not ended. Rejects if the store fails. */
  unended: (ids: readonly string[]) => Promise<ReadonlySet<string>>
  intervalMs: number
  watchersPerAccountMax: number
}

/** Waits for the ends of jobs, which any process may write. */
export type JobWatch = ReturnType<typeof createJobWatch>

/** While jobs are watched, all of them are looked up together. */
export function createJobWatch({ unended, intervalMs, watchersPerAccountMax: most }: Options) {
  const watched = new Map<string, Set<() => void>>()
  const watchers = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  const notify = (id: string): void => {
    for (const go of watched.get(id) ?? []) go()
  }
  const look = async (): Promise<void> => {
    const ids = [...watched.keys()]
    // When the store fails, clients wait until the next look.
    const left = await unended(ids).catch(() => undefined)
    for (const id of ids) if (left?.has(id) === false) notify(id)
    timer = watched.size === 0 ? undefined : again()
  }
  const again = () => setTimeout(() => void look(), intervalMs).unref()
  return {
    /** Called when a job has ended in this process. */
    notify,
    /** Resolves when the job has ended or was deleted, or the signal aborts. Throws `rate_limit_exceeded` at once. */
    ended: (
      { id, accountId }: { id: string; accountId: string },
      signal: AbortSignal,
    ): Promise<void> => {
      const count = watchers.get(accountId) ?? 0
      if (count >= most) throw tooMany(most)
      watchers.set(accountId, count + 1)
      const { promise, resolve } = Promise.withResolvers<void>()
      const ofJob = watched.get(id) ?? new Set()
      watched.set(id, ofJob.add(resolve))
      signal.addEventListener('abort', () => resolve(), { once: true })
      timer ??= again()
      return promise.then(() => {
        ofJob.delete(resolve)
        if (ofJob.size === 0) watched.delete(id)
        const others = watchers.get(accountId)! - 1
        if (others === 0) watchers.delete(accountId)
        else watchers.set(accountId, others)
      })
    },
  }
}

function tooMany(most: number): GatewayError {
  const text = `This account watches ${most} image jobs already. Close a stream, or poll the job.`
  return new GatewayError('rate_limit_exceeded', text, { param: 'job_id', retryAfterSeconds: 5 })
}
