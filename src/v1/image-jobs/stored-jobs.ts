import type { components } from '../../../generated/types.ts'
import { GatewayError, toGatewayError } from '../../core/error.ts'
import type { ImageJob, JobPicture } from '../../core/image/jobs.ts'
import type { MemoryHold } from '../../bytes/memory-budget.ts'
import type { Operation } from '../../http/operation.ts'
import { foundJob, jobAnswer, jobForm } from './job-form.ts'
import type { JobParts } from './run-job.ts'

type Schemas = components['schemas']
type Options = Pick<JobParts, 'imageJobs' | 'pictureFiles' | 'backgroundCalls'>

/** GET /v1/images/jobs */
export function listImageJobs({ imageJobs, pictureFiles }: Options): Operation<'listImageJobs'> {
  return async ({ query: { limit, after, status }, caller }) => {
    const unavailable = await refusalOf(caller.accountId, { imageJobs, pictureFiles })
    const jobs = await imageJobs.list(caller, { limit: limit + 1, after, status })
    const data = jobs.slice(0, limit).map((job) => jobForm(job, pictureFiles))
    const json: Schemas['ImageJobList'] = {
      object: 'list',
      data,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: jobs.length > limit,
      unavailable,
    }
    return { status: 200, json }
  }
}

/** Why a new job of the account would be refused; null if it would not. */
async function refusalOf(
  accountId: string,
  { imageJobs, pictureFiles }: Pick<Options, 'imageJobs' | 'pictureFiles'>,
): Promise<string | null> {
  try {
    imageJobs.assertOn()
    await pictureFiles.place(accountId)
    return null
  } catch (thrown) {
    return toGatewayError(thrown).message
  }
}

/** GET /v1/images/jobs/{job_id} */
export function retrieveImageJob(options: Options): Operation<'retrieveImageJob'> {
  const { imageJobs, pictureFiles } = options
  return async ({ path: { job_id: id }, query: { include }, caller, memory }) => {
    const job = await foundJob(imageJobs, caller, id)
    const base64: string[] = []
    const pictures = include === undefined ? [] : (job.content.result?.data ?? [])
    for (const picture of pictures) base64.push(await base64Of(job, picture, options, memory))
    return jobAnswer(200, job, jobForm(job, pictureFiles, base64))
  }
}

/** POST /v1/images/jobs/{job_id}/cancel */
export function cancelImageJob(options: Options): Operation<'cancelImageJob'> {
  const { imageJobs, pictureFiles, backgroundCalls } = options
  return async ({ path: { job_id: id }, caller }) => {
    await imageJobs.cancel(await foundJob(imageJobs, caller, id))
    backgroundCalls.ended(id)
    const job = await foundJob(imageJobs, caller, id)
    return jobAnswer(200, job, jobForm(job, pictureFiles))
  }
}

/** DELETE /v1/images/jobs/{job_id} */
export function deleteImageJob(options: Options): Operation<'deleteImageJob'> {
  const { imageJobs, backgroundCalls } = options
  return async ({ path: { job_id: id }, caller }) => {
    // Throws if the job does not exist, also if another request has deleted it since.
    const job = await foundJob(imageJobs, caller, id)
    if (!(await imageJobs.remove(job))) await foundJob(imageJobs, caller, id)
    backgroundCalls.ended(id)
    const json: Schemas['DeletedImageJob'] = { id, object: 'image.job', deleted: true }
    return { status: 200, json }
  }
}

/** A picture of a job as base64, whose memory is taken until the hold is released. Throws a GatewayError. */
export async function base64Of(
  job: ImageJob,
  { file }: JobPicture,
  { pictureFiles }: Pick<Options, 'pictureFiles'>,
  memory: MemoryHold,
): Promise<string> {
  const opened = await pictureFiles.open(job, file.id)
  const bytes = await opened?.read(memory)
  if (bytes !== undefined) return bytes.toString('base64')
  const text = `The picture ${file.id} of this job no longer exists. Make it again.`
  throw new GatewayError('not_found', text, { param: 'job_id' })
}
