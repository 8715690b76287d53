import { Refusal, refusalOf, type Schemas } from '../../data/api.ts'
import { away, call, type Mode } from '../../data/calling.ts'
import { eventsOf } from '../../data/event-stream.ts'
import { costOf, isRunning, requestIdOf, retrieveJob, watchJob } from '../../data/image-jobs.ts'
import { watchedBody, type Request } from './image-request.ts'

/** Receives the state of a call. */
export type Watch = {
  signal: AbortSignal
  /** The call has become a job, which runs on when the page is closed. */
  onJob(id: string): void
  /** The pictures so far, by their place in the answer. */
  onPreviews(previews: readonly (Preview | undefined)[]): void
}

/** A picture of an answer that is not complete; `url` is a data URL. */
export type Preview = { url: string; isFinished: boolean }

/** Pictures in base64, and the receipt. */
export type Answer = {
  pictures: readonly string[]
  text?: string | undefined
  costUsd: string | null
  cache: string | null
  requestId: string | undefined
  /** Duration of a job, in milliseconds. */
  jobMs?: number
}

/** What is known of a call that has ended, beside its pictures. */
export type Receipt = Omit<Answer, 'pictures' | 'jobMs'> & { durationMs: number }

type Call = { request: Request; mode: Mode; idempotencyKey: string }

/** Modes in which the gateway has refused jobs during this visit. */
const withoutJobs = new Set<Mode>()

/**
 * Makes the pictures of a request: as a job if the gateway accepts jobs, so that a lost connection loses no
 * picture, else as a stream. Returns undefined when the job was cancelled. Throws a Refusal.
 */
export async function makePictures(
  { request, mode, idempotencyKey }: Call,
  watch: Watch,
): Promise<Answer | undefined> {
  const { operation, path } = request
  const body = watchedBody(request)
  const asking = { mode, signal: watch.signal, idempotencyKey }
  if (operation === 'createChatCompletion') return wholeAnswer(await call(path, body, asking))
  if (!withoutJobs.has(mode)) {
    const response = await call(path, body, { ...asking, prefer: 'respond-async' }).catch(
      (error: unknown) => {
        const isOff = error instanceof Refusal && error.status === 400 && error.param === 'prefer'
        if (!isOff) throw error
        withoutJobs.add(mode)
        return undefined
      },
    )
    if (response?.status === 202) {
      const { id } = (await response.json()) as { id: string }
      watch.onJob(id)
      return watchUntilEnd(id, mode, watch)
    }
    if (response !== undefined) return wholeAnswer(response)
  }
  // The gateway may repeat its refusal for the first key.
  const streaming = { ...asking, idempotencyKey: `${idempotencyKey}-stream` }
  const response = await call(path, { ...body, stream: true }, streaming)
  const { pictures, usage, failed } = await readPictures(response, watch)
  if (failed !== undefined) throw refusalOf(failed, response)
  // A stream without the last event means that the gateway went down.
  if (usage === undefined) throw away()
  return { ...receiptOf(response), pictures, costUsd: costOf(usage) }
}

/** Number of times that the lost connection to a job is opened again, and the delay before. */
const reopeningsMax = 20
const reopenMs = 2000

/** Watches a job until it has ended. Returns undefined when it was cancelled. Throws a Refusal. */
export async function watchUntilEnd(
  id: string,
  mode: Mode,
  watch: Watch,
): Promise<Answer | undefined> {
  const asking = { mode, signal: watch.signal }
  for (let reopenings = 0; ; reopenings++) {
    try {
      const response = await watchJob(id, asking)
      const { pictures } = await readPictures(response, watch)
      const job = await retrieveJob(id, asking)
      if (job.status === 'cancelled') return undefined
      if (job.error !== null) throw refusalOf({ error: job.error }, response)
      const jobMs = ((job.completed_at ?? job.created_at) - job.created_at) * 1000
      const costUsd = costOf(job.result?.usage)
      const answer = { pictures, costUsd, cache: null, requestId: requestIdOf(id), jobMs }
      if (!isRunning(job)) return answer
      if (reopenings === reopeningsMax) throw away()
    } catch (error) {
      const isLost = error instanceof Refusal && error.code === 'unreachable'
      if (!isLost || reopenings === reopeningsMax) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, reopenMs))
    watch.signal.throwIfAborted()
  }
}

type PictureEvent = {
  type: string
  b64_json: string
  output_format: string
  image_index?: number
  usage?: { cost?: number | null }
  error?: object
}

/** Reads a stream of pictures to its end; `usage` is that of the last event, `failed` the error that ends it. */
async function readPictures(response: Response, { signal, onPreviews }: Watch) {
  const pictures: string[] = []
  const previews: Preview[] = []
  let usage: PictureEvent['usage']
  let failed: PictureEvent | undefined
  for await (const { data } of eventsOf(response, signal)) {
    const event = JSON.parse(data) as PictureEvent
    if (event.error !== undefined) {
      failed = event
      continue
    }
    const { image_index: at = 0, b64_json: base64 } = event
    const isFinished = event.type.endsWith('.completed')
    if (isFinished) pictures[at] = base64
    usage = event.usage ?? usage
    previews[at] = { url: `data:image/${event.output_format};base64,${base64}`, isFinished }
    onPreviews([...previews])
  }
  return { pictures, usage, failed }
}

type Body = Schemas['ImagesResponse'] | Schemas['ChatCompletion']

async function wholeAnswer(response: Response): Promise<Answer> {
  const body = (await response.json()) as Body
  const costUsd = response.headers.get('x-gateway-cost-usd')
  const receipt = { ...receiptOf(response), costUsd }
  // A vendor may add members to a completion, also `data`.
  if (!('choices' in body)) {
    return { ...receipt, pictures: body.data.map(({ b64_json: base64 }) => base64) }
  }
  const { content, images } = body.choices[0]?.message ?? {}
  const urls = (images ?? []).map(({ image_url: { url } }) => url)
  return {
    ...receipt,
    pictures: urls.map((url) => url.slice(url.indexOf(',') + 1)),
    text: content ?? undefined,
  }
}

function receiptOf({ headers }: Response) {
  return {
    cache: headers.get('x-gateway-cache'),
    requestId: headers.get('x-request-id') ?? undefined,
  }
}
