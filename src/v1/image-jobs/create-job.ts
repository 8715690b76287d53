import type { components } from '../../../generated/types.ts'
import type { Answered } from '../../core/call.ts'
import type { CallStart } from '../../core/caller.ts'
import { GatewayError, toGatewayError } from '../../core/error.ts'
import type { Gateway } from '../../core/gateway.ts'
import type { ImageResult } from '../../core/image/image.ts'
import type { ImageJob, JobRequest } from '../../core/image/jobs.ts'
import type { ImageInputs } from '../../core/image/work.ts'
import { dropped, type Warning } from '../../core/model.ts'
import { KeyInUse } from '../../core/repeats/idempotency.ts'
import type { BackgroundCalls } from '../../core/resilience/background-calls.ts'
import type { Answer } from '../../http/answer.ts'
import { contextOf, type OperationCall } from '../../http/operation.ts'
import { inBackground } from '../in-background.ts'
import { imagesAnswer } from '../images-answer.ts'
import { streamImages } from '../stream-images.ts'
import { acceptedAnswer, pathOf } from './job-form.ts'
import { completeJob, failJob, jobIdOf, tasksOf, type JobParts } from './run-job.ts'

type ImageJobSettings = components['schemas']['ImageJobSettings']
type Call = OperationCall<'createImage'> | OperationCall<'createImageEdit'>

export type ImageParts = JobParts & {
  gateway: Pick<Gateway, 'find' | 'image'>
  /** How long the pictures of a job are stored. */
  pictureDays: number
}

type ImageRequest = {
  operation: components['schemas']['ImageJobOperation']
  inputs: ImageInputs
}

/** Makes the pictures of a request: a job if the client asks for one, or leaves a request that it can repeat. */
export async function answerImages(
  call: Call,
  request: ImageRequest,
  parts: ImageParts,
): Promise<Answer> {
  const { gateway, clock } = parts
  const { prefer } = call.options
  const { operation, inputs } = request
  const { partialImages = 0 } = inputs.watch ?? {}
  // A stream is watched already: it is not made a job.
  const isStream = call.body.stream === true
  const waitMs = prefer === undefined || isStream ? undefined : waitIn(prefer)
  if (partialImages > 0 && !isStream && waitMs === undefined) throw unwatched()
  const job = waitMs === undefined ? undefined : await asJob(call, request, parts, waitMs)
  if (job !== undefined) return job
  const { watch, answer }: Form = isStream
    ? streamImages({ operation, call, partialImages, clock })
    : { answer: (answered) => imagesAnswer(answered, clock()) }
  const warnings = partialImages > 0 && !isStream ? [unseen(partialImages)] : undefined
  const formed = { operation, inputs: { ...inputs, watch, warnings }, answer }
  if (waitMs === undefined && call.claim !== undefined) return becomingJob(call, formed, parts)
  return answer(await gateway.image(formed.inputs, contextOf(call, 'images')))
}

/** What a call passes its pictures to, and its answer. */
type Form = Pick<ImageInputs, 'watch'> & { answer: (answered: Answered<ImageResult>) => Answer }

function unwatched(): GatewayError {
  const text =
    "'partial_images' needs 'stream': true, or the header 'Prefer: respond-async' for a job whose events have them. Add one, or leave 'partial_images' out."
  return new GatewayError('invalid_value', text, { param: 'partial_images' })
}

function unseen(partialImages: number): Warning {
  const reason = 'No job can be stored now, and an answer with the images has no partial images.'
  return dropped('partial_images', partialImages, reason)
}

const waitMsMax = 60_000

/** How long a client that prefers a job waits for its end; undefined if it prefers none (RFC 7240). */
export function waitIn(prefer: string): number | undefined {
  const preferences = prefer.split(',').map((one) => one.split(';', 1)[0]!.trim().toLowerCase())
  if (!preferences.includes('respond-async')) return undefined
  const wait = preferences.find((one) => /^wait\s*=/.test(one))
  const seconds = Number(/^wait\s*=\s*"?(\d{1,6})"?$/.exec(wait ?? '')?.[1] ?? 0)
  return Math.min(1000 * seconds, waitMsMax)
}

/** Undefined if pictures cannot be stored now, and are in the answer instead. */
async function asJob(
  call: Call,
  { operation, inputs }: ImageRequest,
  parts: ImageParts,
  waitMs: number,
): Promise<Answer | undefined> {
  const { imageJobs, pictureFiles, gateway, clock, backgroundCalls, jobPartials } = parts
  const { caller, requestId, memory } = call
  const earlier =
    call.claim?.earlierId && (await imageJobs.find(caller, jobIdOf(call.claim.earlierId)))
  if (earlier) return acceptedAnswer(earlier, pictureFiles)
  imageJobs.assertOn()
  if ((await pictureFiles.place(caller.accountId)) === 'inline') return undefined
  const id = jobIdOf(requestId)
  const tasks = tasksOf({ id }, parts)
  return inBackground(call, {
    backgroundCalls,
    place: { what: 'images', param: 'prefer' },
    waitMs,
    respond: async (ending, onBegun) => {
      const context = contextOf({ ...call, ending }, 'images')
      let job: ImageJob | undefined
      const begin = async ({ modelId, startedAt }: CallStart) => {
        const begun = newJob(call, parts, { operation, model: modelId, createdAtMs: startedAt })
        const { strict, fallback, tags } = context
        const request = { body: storedBody(call), strict, fallback, tags }
        await imageJobs.begin({ ...begun, content: { ...begun.content, request } })
        job = begun
        onBegun({
          id,
          answer: acceptedAnswer(begun, pictureFiles),
          fail: (error, { signal }) => failJob(begun, error, { tasks: tasks.list, signal }, parts),
        })
      }
      const { watch, end } = jobPartials.begin(id, inputs.watch?.partialImages ?? 0, memory)
      try {
        const answered = await gateway.image({ ...inputs, watch }, { ...context, tasks, begin })
        const whole = imagesAnswer(answered, clock())
        if (job === undefined) return whole
        await completeJob(job, answered, parts, memory)
        const headers = { location: pathOf(job), 'preference-applied': `wait=${waitMs / 1000}` }
        return { ...whole, headers: { ...whole.headers, ...headers } }
      } finally {
        end()
      }
    },
  })
}

function newJob(
  { caller, requestId, body }: Call,
  { pictureDays }: Pick<ImageParts, 'pictureDays'>,
  begun: Pick<ImageJob, 'operation' | 'model' | 'createdAtMs'>,
): ImageJob {
  const { accountId, keyId, mode } = caller
  return {
    ...begun,
    id: jobIdOf(requestId),
    accountId,
    keyId,
    mode,
    status: 'in_progress',
    completedAtMs: null,
    expiresAtMs: begun.createdAtMs + pictureDays * dayMs,
    tasks: [],
    content: {
      settings: settingsOf(body),
      ...(caller.keepsPrompts === true ? { prompt: body.prompt } : {}),
    },
  }
}

const settingNames = [
  'n',
  'size',
  'quality',
  'background',
  'output_format',
  'output_compression',
  'moderation',
  'input_fidelity',
  'partial_images',
] as const

function settingsOf(body: Call['body']): ImageJobSettings {
  const members: Record<string, unknown> = body
  // The contract has checked these members, of which each request has most.
  return Object.fromEntries(settingNames.map((name) => [name, members[name]]))
}

const dayMs = 86_400_000

/** The body, with its pictures left out: a process that finishes the job sends none. */
function storedBody({ body }: Call): JobRequest['body'] {
  if (!('images' in body)) return body
  return { ...body, images: body.images.map(() => ({ image_url: '' })) }
}

/** A request with an idempotency key, which becomes a job when its client leaves: the same key finds it. */
async function becomingJob(
  call: Call,
  { operation, inputs, answer }: ImageRequest & Pick<Form, 'answer'>,
  parts: ImageParts,
): Promise<Answer> {
  const { gateway, imageJobs, backgroundCalls, clock, onFault } = parts
  const { ending, memory } = call
  let place: ReturnType<BackgroundCalls['take']> | undefined
  let begun: Promise<ImageJob | undefined> | undefined
  ending.onContinued = () => {
    const [{ model, name }] = inputs.models
    const begin = { operation, model: model?.row.id ?? name, createdAtMs: clock() }
    begun = leave(newJob(call, parts, begin)).catch(onFault) as Promise<ImageJob | undefined>
  }
  const leave = async (job: ImageJob): Promise<ImageJob> => {
    imageJobs.assertOn()
    await imageJobs.begin(job)
    place = backgroundCalls.take(job.accountId, undefined)
    place.runs(job.id, ending)
    return job
  }
  try {
    const answered = await gateway.image(inputs, contextOf(call, 'images'))
    const job = await begun
    if (job !== undefined) await completeJob(job, answered, parts, memory).catch(onFault)
    return answer(answered)
  } catch (thrown) {
    const job = await begun
    const failed = { tasks: [], signal: ending.signal }
    if (job !== undefined) await failJob(job, toGatewayError(thrown), failed, parts).catch(onFault)
    throw thrown
  } finally {
    place?.leave()
  }
}

/** The job of a request whose idempotency key is in use, for a client that prefers a job. Else rethrows. */
export async function jobInUse(
  thrown: unknown,
  { caller, options }: Pick<Call, 'caller' | 'options'>,
  { imageJobs, pictureFiles }: Pick<JobParts, 'imageJobs' | 'pictureFiles'>,
): Promise<Answer> {
  const cause = thrown instanceof GatewayError ? thrown.cause : undefined
  if (!(cause instanceof KeyInUse)) throw thrown
  const job = await imageJobs.find(caller, jobIdOf(cause.requestId))
  if (job === undefined) throw thrown
  if (options.prefer !== undefined && waitIn(options.prefer) !== undefined)
    return acceptedAnswer(job, pictureFiles)
  const { code, message, param, retryAfterSeconds } = thrown as GatewayError
  const text = `${message} GET ${pathOf(job)} returns its job.`
  throw new GatewayError(code, text, { param: param ?? undefined, retryAfterSeconds, cause })
}
