import { GatewayError } from '../../core/error.ts'
import { wasCancelled } from '../../core/failure.ts'
import type { BackgroundCalls } from '../../core/resilience/background-calls.ts'
import type { Ending } from '../../core/resilience/ending.ts'
import type { Answer } from '../../http/answer.ts'
import type { OperationCall } from '../../http/operation.ts'
import { inBackground } from '../in-background.ts'
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

/** Answers with the response in progress, and goes on. */
export async function responseInBackground(
  call: Call,
  { backgroundCalls, respond }: Options,
): Promise<Answer> {
  refuseUnsupported(call.body)
  return inBackground(call, {
    backgroundCalls,
    place: { what: 'responses', param: 'background' },
    respond: (ending, onBegun) =>
      respond({ ...call, ending }, async (response, { begin, store }, endsAt) => {
        await begin(response, endsAt + endingMs)
        onBegun({
          id: response.id,
          answer: { status: 200, json: response },
          fail: (error, ended) =>
            store({ ...response, status: 'failed', error: failureOf(error, ended) }),
        })
      }),
  })
}

function failureOf(error: GatewayError, { signal }: Ending): ReturnType<typeof failureForm> {
  const form = failureForm(error)
  // The error would say that the provider did not answer in time.
  return wasCancelled(error) ? { ...form, message: (signal.reason as Error).message } : form
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
