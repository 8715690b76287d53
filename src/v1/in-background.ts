import { GatewayError, toGatewayError } from '../core/error.ts'
import { Ending } from '../core/resilience/ending.ts'
import type { BackgroundCalls } from '../core/resilience/background-calls.ts'
import type { Answer } from '../http/answer.ts'
import type { OperationCall } from '../http/operation.ts'

type Call = Pick<OperationCall<'createResponse'>, 'caller' | 'ending'>

/** A call that goes on after its answer: its id, its first answer, and how its failure is stored. */
export type StartedCall = {
  id: string
  answer: Answer
  fail(error: GatewayError, ending: Ending): Promise<unknown>
}

type Options = {
  backgroundCalls: BackgroundCalls
  /** What one more call of the account is refused for. */
  place: Parameters<BackgroundCalls['take']>[1]
  /** Executes the call, and stores its end. `onBegun` is called when it is stored, before a provider is asked. */
  respond: (ending: Ending, onBegun: (started: StartedCall) => void) => Promise<Answer>
  /** How long the whole answer is awaited after the call has begun. */
  waitMs?: number
}

/**
 * Answers as soon as the call is stored and the provider will be asked; the call goes on. What refuses the call
 * before is thrown, and an answer from the cache is the whole answer.
 */
export async function inBackground(call: Call, options: Options): Promise<Answer> {
  const { backgroundCalls, respond, waitMs = 0 } = options
  const place = backgroundCalls.take(call.caller.accountId, options.place)
  const ending = new Ending()
  const beginning = Promise.withResolvers<StartedCall>()
  let begun: StartedCall | undefined
  follow(call.ending, ending, () => begun !== undefined)
  const whole = respond(ending, (started) => {
    begun = started
    place.runs(started.id, ending)
    beginning.resolve(started)
  })
  const after = whole
    .then(
      () => undefined,
      async (thrown: unknown) => {
        if (begun !== undefined && !(thrown instanceof GatewayError))
          backgroundCalls.faulted(thrown)
        await begun?.fail(toGatewayError(thrown), ending)
      },
    )
    .catch(backgroundCalls.faulted)
    .finally(place.leave)
  const first = await Promise.race([beginning.promise, whole])
  if (!('fail' in first)) return first
  if (waitMs === 0) return { ...first.answer, after }
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(late.resolve, waitMs, undefined).unref()
  const inTime = await Promise.race([whole, late.promise]).finally(() => clearTimeout(timer))
  return inTime ?? { ...first.answer, after }
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
