import type { components } from '../../../generated/types.ts'
import { GatewayError, shortened } from '../../core/error.ts'
import type { ImageJob, JobOwner, JobPicture } from '../../core/image/jobs.ts'
import type { PictureFiles } from '../../core/picture-files.ts'
import type { Answer } from '../../http/answer.ts'
import { errorBody } from '../../http/error-answer.ts'
import { requestIdOf } from './run-job.ts'

type Schemas = components['schemas']

/** Clients that poll ask again after this time. */
const pollSeconds = 2

export function pathOf({ id }: Pick<ImageJob, 'id'>): string {
  return `/v1/images/jobs/${id}`
}

export function hasEnded({ status }: Pick<ImageJob, 'status'>): boolean {
  return status !== 'queued' && status !== 'in_progress'
}

/** A job in the contract's form, with links to its pictures, and their base64 if given. */
export function jobForm(
  job: ImageJob,
  files: Pick<PictureFiles, 'linkTo'>,
  base64: readonly string[] = [],
): Schemas['ImageJob'] {
  const { id, operation, model, status, content } = job
  const item = ({ file, ...more }: JobPicture, index: number): Schemas['ImageJobItem'] => ({
    url: files.linkTo(job, file),
    ...(base64[index] === undefined ? {} : { b64_json: base64[index] }),
    ...more,
    output_format: file.format,
    bytes: file.bytes,
  })
  return {
    id,
    object: 'image.job',
    status,
    created_at: seconds(job.createdAtMs),
    completed_at: job.completedAtMs && seconds(job.completedAtMs),
    expires_at: seconds(job.expiresAtMs),
    operation,
    model,
    key_id: job.keyId,
    ...(job.keyName === undefined ? {} : { key_name: job.keyName }),
    prompt: content.prompt ?? null,
    ...(content.settings === undefined ? {} : { settings: content.settings }),
    error: content.error ?? null,
    result: content.result ? { ...content.result, data: content.result.data.map(item) } : null,
  }
}

const seconds = (atMs: number) => Math.floor(atMs / 1000)

/** The answer with a job; it says when to ask again while the job has not ended. */
export function jobAnswer(status: number, job: ImageJob, json: Schemas['ImageJob']): Answer {
  const headers: Record<string, string> = { 'cache-control': 'no-store' }
  if (!hasEnded(job)) headers['retry-after'] = String(pollSeconds)
  return { status, headers, json }
}

/** The answer to a request whose job goes on. */
export function acceptedAnswer(job: ImageJob, files: Pick<PictureFiles, 'linkTo'>): Answer {
  const { headers, ...answer } = jobAnswer(202, job, jobForm(job, files))
  return {
    ...answer,
    headers: { ...headers, location: pathOf(job), 'preference-applied': 'respond-async' },
  }
}

/** Whether the encryption key of an ended job is missing. */
function isLost({ status, content: { result, error } }: ImageJob): boolean {
  const hasContent = status === 'completed' || status === 'failed'
  return hasContent && result === undefined && error === undefined
}

function lostContent(job: ImageJob): ImageJob['content'] {
  const text =
    'The content of this job cannot be decrypted, because its encryption key is missing. Restore the key, or send the request again.'
  return errorBody(new GatewayError('not_found', text, { param: 'job_id' }), requestIdOf(job))
}

/** The job of a caller; the error of one that cannot be decrypted says so. Throws `not_found`. */
export async function foundJob(
  jobs: { find(caller: JobOwner, id: string): Promise<ImageJob | undefined> },
  caller: JobOwner,
  id: string,
): Promise<ImageJob> {
  const job = await jobs.find(caller, id)
  if (job !== undefined) return isLost(job) ? { ...job, content: lostContent(job) } : job
  const text = `Image job with id '${shortened(id, 100)}' not found.`
  throw new GatewayError('not_found', text, { param: 'job_id' })
}
