import { joinPieces } from '../../bytes/pieces.ts'
import { GatewayError } from '../../core/error.ts'
import { KeyEnded } from '../../core/failure.ts'
import type { ImageJob, JobResult } from '../../core/image/jobs.ts'
import { errorBody } from '../../http/error-answer.ts'
import type { Operation } from '../../http/operation.ts'
import { imageErrorEvent, imageEvents, writeEvent, type EventPieces } from '../image-events.ts'
import { foundJob, hasEnded } from './job-form.ts'
import type { JobParts } from './run-job.ts'
import { base64Of } from './stored-jobs.ts'

/** GET /v1/images/jobs/{job_id}/events */
export function streamImageJob(options: JobParts): Operation<'streamImageJob'> {
  const { imageJobs, backgroundCalls, jobPartials } = options
  return async ({ path: { job_id: id }, request, caller, memory, requestId, ending }) => {
    const { signal } = ending
    let job = await foundJob(imageJobs, caller, id)
    const next = nextAfter(request.headers['last-event-id'], id)
    // Browsers reconnect to a stream that has ended, until they get this status.
    if (hasEnded(job) && next.picture >= (job.content.result?.data.length ?? Infinity))
      return { status: 204 }
    const ended = hasEnded(job) ? undefined : backgroundCalls.endOf(job, signal)
    const { partial } = imageEvents(job.operation, job.createdAtMs)
    return {
      status: 200,
      events: async (sink) => {
        let reading: Promise<void> | undefined
        const write = (event: EventPieces) => {
          if (writeEvent(sink, event)) return
          reading = new Promise<void>((go) => sink.onDrain(go)).then(() => {
            reading = undefined
            show()
          })
        }
        // A client that reads slowly gets only the latest ones, so that one event at most waits for it.
        const show = () => {
          for (const one of jobPartials.of(id)) {
            if (reading !== undefined || one.number < next.partial) continue
            next.partial = one.number + 1
            write([`id: ${id}.p${one.number}\n`, ...partial(one)])
          }
        }
        const stop = jobPartials.onShown(id, show)
        show()
        await ended
        stop()
        next.partial = Infinity
        try {
          if (signal.reason instanceof KeyEnded) throw signal.reason.error
          if (signal.aborted) return undefined
          job = await foundJob(imageJobs, caller, id)
          const { result } = job.content
          if (result === undefined) throw new GatewayError('cancelled', 'The job was cancelled.')
          for (; next.picture < result.data.length; next.picture++) {
            await reading
            const base64 = await base64Of(job, result.data[next.picture]!, options, memory)
            write(completedEvent(job, result, next.picture, base64))
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

/** The numbers of the first partial image and the first picture after an event. Throws `invalid_value` for an id that is none of this job. */
function nextAfter(eventId: string | string[] | undefined, id: string) {
  if (eventId === undefined || eventId === '') return { partial: 0, picture: 0 }
  const place = String(eventId).startsWith(`${id}.`) ? String(eventId).slice(id.length + 1) : ''
  if (place === endPlace) return { partial: Infinity, picture: Infinity }
  const [, kind, number] = /^([pc])(\d{1,4})$/.exec(place) ?? []
  const next = Number(number) + 1
  if (kind === 'p') return { partial: next, picture: 0 }
  if (kind === 'c') return { partial: Infinity, picture: next }
  const text =
    "The header 'Last-Event-ID' is not the id of an event of this job. Send it as it was received, or leave it out for all events."
  throw new GatewayError('invalid_value', text, { param: 'last-event-id' })
}

/** The event of a finished picture; the last one has the usage of the whole request. */
function completedEvent(
  { id, operation }: ImageJob,
  { data, usage, warnings, size = 'auto', ...result }: JobResult,
  index: number,
  base64: string,
): EventPieces {
  const { file, revised_prompt: revisedPrompt } = data[index]!
  const shown = { base64: [Buffer.from(base64)], format: file.format, size, revisedPrompt }
  const last = index === data.length - 1 ? { usage, warnings } : undefined
  const { completed } = imageEvents(operation, result.created * 1000)
  return [`id: ${id}.c${index}\n`, ...completed(shown, index, result, last)]
}
