import { GatewayError } from '../../core/error.ts'
import type { ImageJob } from '../../core/image/jobs.ts'
import { errorBody } from '../../http/error-answer.ts'
import type { Operation } from '../../http/operation.ts'
import { foundJob, hasEnded } from './job-form.ts'
import type { JobParts } from './run-job.ts'
import { base64Of } from './stored-jobs.ts'

/** GET /v1/images/jobs/{job_id}/events */
export function streamImageJob(options: JobParts): Operation<'streamImageJob'> {
  const { imageJobs, jobWatch } = options
  return async ({ path: { job_id: id }, request, caller, memory, requestId, ending }) => {
    const { signal } = ending
    let job = await foundJob(imageJobs, caller, id)
    let next = nextAfter(request.headers['last-event-id'], id)
    let isBroken = false
    const watching = hasEnded(job) ? undefined : jobWatch.ended(job, signal)
    return {
      status: 200,
      brokenOff: () => isBroken,
      events: async (sink) => {
        try {
          await watching
          if (signal.aborted) return undefined
          job = await foundJob(imageJobs, caller, id)
          if (job.status !== 'completed') throw errorOf(job)
          // A job that has completed has its result.
          const { data } = job.content.result!
          for (; next < data.length; next++) {
            const base64 = await base64Of(job, data[next]!, options, memory)
            const isWritable = sink.write(completedEvent(job, next, base64))
            if (!isWritable) await new Promise<void>((go) => sink.onDrain(go))
          }
          return undefined
        } catch (thrown) {
          if (!(thrown instanceof GatewayError)) throw thrown
          isBroken = true
          const { error } = errorBody(thrown, requestId)
          const data = JSON.stringify({ type: 'error', error: job.content.error ?? error })
          return Buffer.from(`event: error\ndata: ${data}\n\n`)
        }
      },
    }
  }
}

/** The place of the first picture after an event. Throws `invalid_value` for an id that is none of this job. */
function nextAfter(eventId: string | string[] | undefined, id: string): number {
  if (eventId === undefined || eventId === '') return 0
  const [, of, place] = /^(imgjob_[0-9a-f]{32})\.c(\d{1,2})$/.exec(String(eventId)) ?? []
  if (of === id) return Number(place) + 1
  const text =
    "The header 'Last-Event-ID' is not the id of an event of this job. Send it as it was received, or leave it out for all events."
  throw new GatewayError('invalid_value', text, { param: 'last-event-id' })
}

function errorOf({ status, content: { error } }: ImageJob): GatewayError {
  const text = status === 'cancelled' ? 'The job was cancelled.' : 'The job failed.'
  return new GatewayError('timeout', error?.message ?? text)
}

/** The event of a finished picture; the last one has the usage of the whole request. */
function completedEvent(job: ImageJob, index: number, base64: string): Buffer {
  const { data, usage, warnings, ...result } = job.content.result!
  const type = job.operation === 'edit' ? 'image_edit.completed' : 'image_generation.completed'
  const isLast = index === data.length - 1
  const json = JSON.stringify({
    type,
    b64_json: base64,
    created_at: result.created,
    size: result.size ?? 'auto',
    quality: result.quality ?? 'auto',
    background: result.background ?? 'auto',
    output_format: data[index]!.file.format,
    image_index: index,
    usage: isLast ? usage : noImageUsage,
    ...(isLast && warnings !== undefined ? { warnings } : {}),
  })
  return Buffer.from(`id: ${job.id}.c${index}\nevent: ${type}\ndata: ${json}\n\n`)
}

const noImageUsage = {
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  input_tokens_details: { text_tokens: 0, image_tokens: 0 },
}
