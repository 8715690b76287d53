import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { FileOptions } from './sqlite-file.ts'
import type { QueryOutcome, WorkerReply, WorkerRequest } from './sqlite-worker.ts'
import { StoreError, toStoreError } from './store-error.ts'

/** A request without its id; distributes `Omit` over the union. */
export type Unsent = WorkerRequest extends infer R
  ? R extends { id: number }
    ? Omit<R, 'id'>
    : never
  : never

/** The store's worker thread. If it has ended, a later request starts it again. */
export type StoreThread = ReturnType<typeof startThread>

/** A small young generation saves memory; few objects of the thread are long-lived. */
const maxYoungGenerationSizeMb = 4
const restartPauseMs = 1000
/** TypeScript in a checkout, JavaScript in a package. */
const workerFile = new URL(`./sqlite-worker${extname(import.meta.filename)}`, import.meta.url)

export function startThread(options: FileOptions) {
  let started = 1
  let running = startWorker(options)
  let isStopped = false
  let answerTimeoutMs: number | undefined
  let late: Pick<typeof running, 'hasEnded'> | undefined

  const restart = (): void => {
    // Nothing ends a running query. Others are read beside one late query; a second one is waited for.
    const isLate = options.readOnly === true && !running.hasEnded() && late?.hasEnded() !== false
    if (isStopped || !(isLate || running.mayBeReplaced())) return
    if (isLate) late = running
    started++
    running = startWorker(options)
  }
  return {
    /** The number of the running thread, counted from 1; one that failed is replaced first if possible. */
    current: () => {
      if (running.fault() !== undefined) restart()
      return started
    },
    /** Throws a StoreError, also if the thread `on`, with its transaction, was replaced. */
    ask: (request: Unsent, on: number = started): Promise<QueryOutcome> => {
      if (running.fault() !== undefined) restart()
      const fault = running.fault()
      if (fault !== undefined) return Promise.reject(fault)
      if (on !== started) return Promise.reject(new StoreError('The thread of the store ended.'))
      return running.ask(request, answerTimeoutMs)
    },
    /** Sets a time limit for later requests; a thread that exceeds it is terminated. */
    limitAnswers: (timeoutMs: number) => {
      answerTimeoutMs = timeoutMs
    },
    stop: async () => {
      isStopped = true
      if (running.fault() === undefined) await running.ask({ kind: 'close' }).catch(() => undefined)
      await running.terminate()
    },
  }
}

function startWorker(options: FileOptions) {
  const worker = new Worker(workerFile, {
    workerData: options,
    resourceLimits: { maxYoungGenerationSizeMb },
  })
  const waiting = new Map<number, PromiseWithResolvers<QueryOutcome>>()
  let last = 0
  let fault: StoreError | undefined
  let endedAt = Infinity
  worker.on('message', (reply: WorkerReply) => {
    const promise = waiting.get(reply.id)
    waiting.delete(reply.id)
    if ('outcome' in reply) promise?.resolve(reply.outcome)
    else promise?.reject(toStoreError(reply.error))
  })
  const failed = (reason: string) => `The store ${options.path} failed: ${reason}.`
  const fail = (reason: string, cause?: Error) => {
    fault ??= new StoreError(failed(reason), cause && toStoreError(cause).errcode, { cause })
    for (const promise of waiting.values()) promise.reject(fault)
    waiting.clear()
  }
  worker.on('error', (cause: Error) => fail(cause.message, cause))
  worker.on('exit', () => {
    endedAt = performance.now()
    fail('its thread has ended')
  })
  const ask = (request: Unsent, timeoutMs?: number): Promise<QueryOutcome> => {
    const promise = Promise.withResolvers<QueryOutcome>()
    waiting.set(++last, promise)
    worker.postMessage({ ...request, id: last })
    if (timeoutMs === undefined) return promise.promise
    const timer = setTimeout(() => {
      const reason = 'its thread does not answer'
      promise.reject(new StoreError(failed(reason), undefined, { isLate: true }))
      fail(reason)
      void worker.terminate()
    }, timeoutMs)
    return promise.promise.finally(() => clearTimeout(timer))
  }
  return {
    ask,
    fault: () => fault,
    hasEnded: () => endedAt !== Infinity,
    /** A blocked thread ends late; the replacement of one that writes waits, so that two never write at once. */
    mayBeReplaced: () => performance.now() - endedAt >= restartPauseMs,
    terminate: () => worker.terminate(),
  }
}
