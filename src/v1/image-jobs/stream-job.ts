import { joinPieces } from '../../bytes/pieces.ts'
import { GatewayError } from '../../core/error.ts'
import type { ImageJob } from '../../core/image/jobs.ts'
import { errorBody } from '../../http/error-answer.ts'
import type { Operation } from '../../http/operation.ts'
import { imageErrorEvent, imageEvents } from '../image-events.ts'
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
    // Browsers reconnect to a stream that has ended, until they get this status.
    if (hasEnded(job) && next >= (job.content.result?.data.length ?? Infinity))
      return { status: 204 }
    const watching = hasEnded(job) ? undefined : jobWatch.ended(job, signal)
    return {
      status: 200,
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
          const event = imageErrorEvent(job.content.error ?? errorBody(thrown, requestId).error)
          const isEnd = hasEnded(job) && job.status !== 'completed'
          return isEnd ? joinPieces([Buffer.from(`id: ${id}.${endPlace}\n`), event]) : event
        }
      },
    }
  }
}

/** The place of the event that reports the end of a job without pictures. */
const endPlace = 'end'

/** The place of the first picture after an event, after the end Infinity. Throws `invalid_value` for an id that is none of this job. */
function nextAfter(eventId: string | string[] | undefined, id: string): number {
  if (eventId === undefined || eventId === '') return 0
  const place = String(eventId).startsWith(`${id}.`) ? String(eventId).slice(id.length + 1) : ''
  if (place === endPlace) return Infinity
  if (/^c\d{1,2}$/.test(place)) return Number(place.slice(1)) + 1
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
  const { data, usage, warnings, size = 'auto', ...result } = job.content.result!
  const { file, revised_prompt: revisedPrompt } = data[index]!
  const shown = { base64: [Buffer.from(base64)], format: file.format, size, revisedPrompt }
  const last = index === data.length - 1 ? { usage, warnings } : undefined
  const { completed } = imageEvents(job.operation, result.created * 1000)
  const event = completed(shown, index, result, last)
  return joinPieces([`id: ${job.id}.c${index}\n`, ...event].map((one) => Buffer.from(one)))
}
