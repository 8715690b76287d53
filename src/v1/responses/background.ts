import { Ending } from '../../core/resilience/ending.ts'
import type { BackgroundCalls } from '../../core/resilience/background-calls.ts'
import { GatewayError, toGatewayError } from '../../core/error.ts'
import { wasCancelled } from '../../core/failure.ts'
import type { Answer } from '../../http/answer.ts'
import type { OperationCall } from '../../http/operation.ts'
import type { History } from './history.ts'
import { failureForm, type ModelResponse } from './response.ts'

type Call = OperationCall<'createResponse'>

/** Called when a response begins that goes on in the background until `endsAt`. Throws a GatewayError. */
export type OnStart = (
  response: ModelResponse,
  history: Pick<History, 'begin' | 'store'>,
  endsAt: number,
) => Promise<void>

type Options = {
  backgroundCalls: BackgroundCalls
  /** Makes the response, and stores it. */
  respond: (call: Call, onBegun: OnStart) => Promise<Answer>
}

/** The end of a response is stored within this time after the deadline of its call. */
const endingMs = 60_000

/**
 * Answers as soon as the response is stored and the provider will be asked; the call goes on. What refuses the
 * call before is thrown, and an answer from the cache is the whole response.
 */
export async function inBackground(
  call: Call,
  { backgroundCalls, respond }: Options,
): Promise<Answer> {
  refuseUnsupported(call.body)
  const place = backgroundCalls.take(call.caller.accountId)
  const ending = new Ending()
  const begun = Promise.withResolvers<ModelResponse>()
  let fail: ((error: GatewayError) => Promise<unknown>) | undefined
  follow(call.ending, ending, () => fail !== undefined)
  const whole = respond({ ...call, ending }, async (response, { begin, store }, endsAt) => {
    await begin(response, endsAt + endingMs)
    fail = (error) => store({ ...response, status: 'failed', error: failureOf(error, ending) })
    place.runs(response.id, ending)
    begun.resolve(response)
  })
  const after = whole
    .then(
      () => undefined,
      async (thrown: unknown) => {
        if (fail !== undefined && !(thrown instanceof GatewayError)) backgroundCalls.faulted(thrown)
        await fail?.(toGatewayError(thrown))
      },
    )
    .catch(backgroundCalls.faulted)
    .finally(place.leave)
  const first = await Promise.race([begun.promise, whole])
  return 'id' in first ? { status: 200, json: first, after } : first
}

function failureOf(error: GatewayError, { signal }: Ending): ReturnType<typeof failureForm> {
  const form = failureForm(error)
  // The error would say that the provider did not answer in time.
  return wasCancelled(error) ? { ...form, message: (signal.reason as Error).message } : form
}

/** Ends the call with its request; after its answer only when the key ends. */
function follow(request: Ending, ending: Ending, hasBegun: () => boolean): void {
  const { signal } = request
  const end = () => {
    if (!hasBegun() || !request.hasLeft) ending.abort(signal.reason)
  }
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })
}

function refuseUnsupported({ stream, store }: Call['body']): void {
  if (stream === true) {
    const text =
      'A response in the background is not streamed. Leave out `stream`, and poll with GET /v1/responses/{response_id}.'
    throw new GatewayError('unsupported_value', text, { param: 'stream' })
  }
  if (store !== false) return
  const text =
    'A response in the background must be stored. Leave out `store: false`, or `background`.'
  throw new GatewayError('unsupported_value', text, { param: 'background' })
}
