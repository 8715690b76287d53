import { useEffect, useRef, useState } from 'preact/hooks'
import type { Refusal } from '../../data/api.ts'
import { newAttemptKey, type Mode } from '../../data/calling.ts'
import { cancelJob } from '../../data/image-jobs.ts'
import { toRefusal } from '../../data/load.ts'
import { accountQuery, playgroundJobs } from '../../data/session.ts'
import { blobOf, keep, type MadePicture } from './gallery-store.ts'
import { record, type Entry } from './history-store.ts'
import type { Choice, Request } from './image-request.ts'
import { makePictures, watchUntilEnd, type Preview, type Receipt, type Watch } from './making.ts'

type Started = {
  model: string
  prompt: string
  /** The form, for the history. */
  choice: Choice
  mode: Mode
  idempotencyKey: string
  startedAtMs: number
  /** Undefined when the page has been loaded again since the start. */
  request?: Request | undefined
  /** The job that makes the pictures; undefined until the gateway has created it. */
  jobId?: string | undefined
}

/** A call to one image model, and its state; `gone` is a job that was deleted before the page was loaded again. */
export type Attempt = Started &
  (
    | { state: 'running'; cancel: () => void; previews: readonly (Preview | undefined)[] }
    | { state: 'cancelled' | 'gone' }
    | { state: 'failed'; error: Refusal }
    | { state: 'made'; made: Made }
  )

export type Made = Receipt & { pictures: readonly MadePicture[] }

export type Wanted = Pick<Attempt, 'model' | 'prompt' | 'choice' | 'mode'> & { request: Request }

/** Duration of each model's last call in this visit, in milliseconds. */
const durations = new Map<string, number>()
export const usualMsOf = (model: string): number | undefined => durations.get(model)

/**
 * Calls to the chosen models, shown side by side: at first the call of the history that was opened, or the jobs
 * from before the page was loaded again.
 */
export function useAttempts(mode: Mode, opened: Entry | undefined) {
  const [attempts, setAttempts] = useState<readonly Attempt[]>([])
  const running = useRef(new Set<AbortController>())
  const begin = (index: number, started: Started): void => {
    const controller = new AbortController()
    running.current.add(controller)
    const put = (attempt: Attempt) =>
      setAttempts((all) => {
        const changed = [...all]
        changed[index] = attempt
        return changed
      })
    void run(started, controller, put).finally(() => running.current.delete(controller))
  }
  useEffect(() => {
    if (opened?.kind === 'pictures') setAttempts([attemptOf(opened)])
    else storedJobs(mode).forEach((one, index) => begin(index, one))
    return () => running.current.forEach((one) => one.abort())
  }, [])
  useEffect(() => {
    if (attempts.length > 0) storeJobs(mode, attempts)
  }, [attempts])
  return {
    attempts,
    isRunning: attempts.some(({ state }) => state === 'running'),
    start: (wanted: readonly Wanted[]) => {
      setAttempts([])
      wanted.forEach((one, index) => begin(index, newCall(one)))
    },
    again: (index: number) => {
      const attempt = attempts[index]!
      begin(index, isOpen(attempt) ? startedOf(attempt) : newCall(attempt))
    },
  }
}

/** Runs a call to its end, and reports each state. */
async function run(
  started: Started,
  controller: AbortController,
  put: (attempt: Attempt) => void,
): Promise<void> {
  const { signal } = controller
  let call = started
  let previews: readonly (Preview | undefined)[] = []
  const cancel = () => {
    if (call.jobId === undefined) return controller.abort()
    // The watch shows the end of the job, which may have been completed before.
    cancelJob(call.jobId, { mode: call.mode, signal }).catch((error) => controller.abort(error))
  }
  const show = () => put({ ...call, state: 'running', cancel, previews })
  const watch: Watch = {
    signal,
    onJob: (jobId) => {
      call = { ...call, jobId }
      show()
    },
    onPreviews: (all) => {
      previews = all
      show()
    },
  }
  show()
  try {
    const made = await make(call, watch)
    put({ ...call, ...(made === undefined ? { state: 'cancelled' } : { state: 'made', made }) })
  } catch (thrown) {
    const error = toRefusal(signal.aborted ? signal.reason : thrown)
    const isGone = started.request === undefined && error.status === 404
    const isCancelled = signal.reason instanceof DOMException
    if (isGone || isCancelled) put({ ...call, state: isGone ? 'gone' : 'cancelled' })
    else put({ ...call, state: 'failed', error })
  }
}

/**
 * Whether the outcome is unknown. A retry then sends the same idempotency key: the gateway answers with the
 * existing result, and charges it once. After a refusal, a retry is a new call.
 */
function isOpen(attempt: Attempt): boolean {
  if (attempt.state !== 'failed') return true
  const { status, code } = attempt.error
  return status === 0 || code === 'idempotency_key_in_use'
}

/** Whether a retry is possible: the request of a job is unknown after the page was loaded again. */
export const mayRepeat = (attempt: Attempt): boolean =>
  attempt.request !== undefined || isOpen(attempt)

function newCall(one: Omit<Wanted, 'request'> & Pick<Started, 'request'>): Started {
  const { model, prompt, choice, mode, request } = one
  const idempotencyKey = newAttemptKey()
  return { model, prompt, choice, mode, request, idempotencyKey, startedAtMs: Date.now() }
}

/** A call of the history, which has ended. */
function attemptOf({ id, mode, models, ...entry }: Entry & { kind: 'pictures' }): Attempt {
  const { form: choice, made } = entry
  const [model = ''] = models
  const { prompt } = choice
  const { requestId } = made
  const pictures = keep(entry.pictures.map((blob) => ({ blob, prompt, model, requestId })))
  const started = { model, prompt, choice, mode, idempotencyKey: id, startedAtMs: 0 }
  return { ...started, state: 'made', made: { ...made, pictures } }
}

async function make(started: Started, watch: Watch): Promise<Made | undefined> {
  const { request, jobId, mode, idempotencyKey, model, prompt, choice, startedAtMs } = started
  const answer =
    jobId === undefined
      ? await makePictures({ request: request!, mode, idempotencyKey }, watch)
      : await watchUntilEnd(jobId, mode, watch)
  if (answer === undefined) return undefined
  const { pictures: made, jobMs, ...receipt } = answer
  const durationMs = jobId === undefined ? Date.now() - startedAtMs : (jobMs ?? 0)
  durations.set(model, durationMs)
  const { requestId } = receipt
  const pictures = made.map((base64) => ({ blob: blobOf(base64), prompt, model, requestId }))
  void record({
    kind: 'pictures',
    id: idempotencyKey,
    mode,
    models: [model],
    form: choice,
    made: { ...receipt, durationMs },
    pictures: pictures.map(({ blob }) => blob),
  })
  return { ...receipt, durationMs, pictures: keep(pictures) }
}

type StoredJob = Started & { account: string }

const accountInPlace = (): string => accountQuery().account_id ?? ''

function allStored(): readonly StoredJob[] {
  return JSON.parse(sessionStorage.getItem(playgroundJobs) ?? '[]') as StoredJob[]
}

/** Jobs of the last start in this tab, for the chosen account. */
export function storedJobs(mode: Mode): readonly Started[] {
  return allStored().filter((one) => one.mode === mode && one.account === accountInPlace())
}

/** Stores the jobs without their requests, whose pictures are larger than the storage. */
function storeJobs(mode: Mode, attempts: readonly Attempt[]): void {
  const account = accountInPlace()
  const others = allStored().filter((one) => one.mode !== mode || one.account !== account)
  const jobs = attempts
    .filter((one) => one.jobId !== undefined && one.state !== 'gone')
    .map((one) => ({ ...startedOf(one), request: undefined, account }))
  sessionStorage.setItem(playgroundJobs, JSON.stringify([...others, ...jobs]))
}

function startedOf(attempt: Attempt): Started {
  const { model, prompt, choice, mode, request, idempotencyKey, startedAtMs, jobId } = attempt
  return { model, prompt, choice, mode, request, idempotencyKey, startedAtMs, jobId }
}
