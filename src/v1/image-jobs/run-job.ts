import type { MemoryHold } from '../../bytes/memory-budget.ts'
import type { Answered } from '../../core/call.ts'
import type { GatewayError } from '../../core/error.ts'
import { wasCancelled } from '../../core/failure.ts'
import type { ImageResult } from '../../core/image/image.ts'
import type { ImageJob, ImageJobs, JobPicture, JobResult } from '../../core/image/jobs.ts'
import type { PictureFiles } from '../../core/picture-files.ts'
import { prune } from '../../core/prune.ts'
import { GatewayStopped } from '../../core/resilience/deadline.ts'
import type { VendorTask, VendorTasks } from '../../core/turn.ts'
import { errorBody } from '../../http/error-answer.ts'
import { imagesTail } from '../images-answer.ts'
import type { JobWatch } from './watch.ts'

export type JobParts = {
  imageJobs: ImageJobs
  pictureFiles: Pick<PictureFiles, 'place' | 'put' | 'linkTo' | 'open'>
  jobWatch: JobWatch
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

/** Stores the pictures of a job, and ends it. Throws a GatewayError. */
export async function completeJob(
  job: ImageJob,
  answered: Answered<ImageResult>,
  { imageJobs, pictureFiles, jobWatch, clock }: JobParts,
  memory: MemoryHold,
): Promise<void> {
  const { accountId, mode, id: ownerId } = job
  const data: JobPicture[] = []
  // One after the other, since each takes memory for copies of its bytes.
  for (const picture of answered.result.pictures) {
    const file = await pictureFiles.put({ accountId, mode, ownerId }, picture, memory)
    data.push({ file, ...prune({ revised_prompt: picture.revisedPrompt }) })
  }
  const created = Math.floor(clock() / 1000)
  // Stored as JSON, which has no members that are undefined.
  const result = { created, data, ...imagesTail(answered) } as JobResult
  const expiresAtMs = Math.min(...data.map(({ file }) => file.expiresAtMs))
  await imageJobs.end(job, { status: 'completed', content: { result }, expiresAtMs })
  jobWatch.notify(job.id)
}

/** Ends a job whose call failed. A task goes on when the gateway stops, and another process finishes it. */
export async function failJob(
  job: ImageJob,
  error: GatewayError,
  { tasks, signal }: { tasks: readonly VendorTask[]; signal: AbortSignal },
  { imageJobs, jobWatch }: Pick<JobParts, 'imageJobs' | 'jobWatch'>,
): Promise<void> {
  if (signal.reason instanceof GatewayStopped && tasks.length > 0) return imageJobs.release(job.id)
  const { error: body } = errorBody(error, requestIdOf(job))
  // The error would say that the provider did not answer in time.
  const message = wasCancelled(error) ? (signal.reason as Error).message : body.message
  const content = { error: { ...body, message } }
  await imageJobs.end(job, { status: 'failed', content })
  jobWatch.notify(job.id)
}
