import { setTimeout as sleep } from 'node:timers/promises'
import type { MemoryHold } from '../../bytes/memory-budget.ts'
import type { Answered } from '../../core/call.ts'
import { GatewayError } from '../../core/error.ts'
import type { ImageResult } from '../../core/image/image.ts'
import type { ImageJob, ImageJobs, JobPicture, JobResult } from '../../core/image/jobs.ts'
import type { PictureFiles } from '../../core/picture-files.ts'
import { prune } from '../../core/prune.ts'
import type { BackgroundCalls } from '../../core/resilience/background-calls.ts'
import { GatewayStopped } from '../../core/resilience/deadline.ts'
import type { VendorTask, VendorTasks } from '../../core/turn.ts'
import { errorBody } from '../../http/error-answer.ts'
import { imagesTail } from '../images-answer.ts'
import type { JobPartials } from './job-partials.ts'

export type JobParts = {
  imageJobs: ImageJobs
  pictureFiles: Pick<PictureFiles, 'place' | 'put' | 'linkTo' | 'open'>
  backgroundCalls: BackgroundCalls
  jobPartials: JobPartials
  clock: () => number
  onFault: (error: unknown) => void
}

/** The request of a job; its id has the same digits. */
export const requestIdOf = ({ id }: Pick<ImageJob, 'id'>) => id.replace(/^imgjob/, 'req')
export const jobIdOf = (requestId: string) => requestId.replace(/^req/, 'imgjob')

/** The tasks of a job that this process executes, which are stored as they begin. */
export function tasksOf(
  job: Pick<ImageJob, 'id'>,
  { imageJobs, onFault }: Pick<JobParts, 'imageJobs' | 'onFault'>,
  begun?: readonly VendorTask[],
): VendorTasks & { list: readonly VendorTask[] } {
  const list = [...(begun ?? [])]
  let storing = Promise.resolve()
  return {
    list,
    begun,
    add: (task) => {
      list.push(task)
      // In order, since each writes the whole list. The task goes on if it cannot be stored.
      storing = storing.then(() => imageJobs.setTasks(job.id, list)).catch(onFault)
      return storing
    },
  }
}

/** Pauses while the store fails at the end of a job: its pictures are paid, and a replica may be promoted meanwhile. */
const endPausesMs = [500, 2000, 8000, 30_000, 60_000, 120_000]

/** Writes a part of the end of a job, again while the store fails. */
async function written<T>(write: () => Promise<T>): Promise<T> {
  for (const pauseMs of endPausesMs) {
    try {
      return await write()
    } catch (thrown) {
      if (!(thrown instanceof GatewayError) || thrown.code !== 'overloaded') throw thrown
    }
    await sleep(pauseMs, undefined, { ref: false })
  }
  return write()
}

/** Stores the pictures of a job, and ends it. Throws a GatewayError. */
export async function completeJob(
  job: ImageJob,
  answered: Answered<ImageResult>,
  { imageJobs, pictureFiles, backgroundCalls, clock }: JobParts,
  memory: MemoryHold,
): Promise<void> {
  const data: JobPicture[] = []
  // One after the other, since each takes memory for copies of its bytes.
  for (const picture of answered.result.pictures) {
    const file = await written(() => pictureFiles.put(job.accountId, picture, memory))
    data.push({ file, ...prune({ revised_prompt: picture.revisedPrompt }) })
  }
  const created = Math.floor(clock() / 1000)
  // Stored as JSON, which has no members that are undefined.
  const result = { created, data, ...imagesTail(answered) } as JobResult
  await written(() => imageJobs.end(job, { result }))
  backgroundCalls.ended(job.id, true)
}

/** Ends a job whose call failed. A task goes on when the gateway stops, and another process finishes it. */
export async function failJob(
  job: ImageJob,
  error: GatewayError,
  { tasks, signal }: { tasks: readonly VendorTask[]; signal: AbortSignal },
  { imageJobs, backgroundCalls }: Pick<JobParts, 'imageJobs' | 'backgroundCalls'>,
): Promise<void> {
  const wasStopped = signal.reason instanceof GatewayStopped
  if (wasStopped && tasks.length > 0) return imageJobs.release(job.id)
  const { error: body } = errorBody(wasStopped ? stopped() : error, requestIdOf(job))
  await written(() => imageJobs.end(job, { error: body }))
  backgroundCalls.ended(job.id, true)
}

/** The error of a job whose process has ended. */
export function stopped(): GatewayError {
  const text =
    'The gateway was stopped while it made these images, and they are lost. What the provider charges is charged.'
  return new GatewayError('provider_error', text)
}
