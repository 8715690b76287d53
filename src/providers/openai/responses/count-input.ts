import type { InputTokenCountParams } from 'openai/resources/responses/input-tokens'
import type { Turn } from '../../../core/turn.ts'
import { readFailure, type ErrorReading } from '../../openai-compatible/failure.ts'
import { jsonRequests, type UpstreamHead } from '../../transport/dispatch.ts'
import type { Endpoint } from '../../transport/endpoint.ts'
import { countInput } from '../../wire/count-input.ts'
import { kindOfCode } from './answer.ts'
import type { WireRequest } from './request.ts'

const path = '/responses/input_tokens'

/** Counts the tokens of the input of a request. */
export function inputCounter(
  endpoint: Endpoint,
): (body: WireRequest, turn: Turn) => Promise<number> {
  const requestTo = jsonRequests(endpoint)
  const { texts } = endpoint
  const errors: ErrorReading = { texts, hasOtherPaths: true, failureKind: kindOfCode }
  return (body, turn) => {
    const counted = {
      endpoint,
      request: requestTo(path, countedOf(body)),
      member: 'input_tokens',
      readFailure: (head: UpstreamHead) => readFailure(head, errors),
    }
    return countInput(counted, turn)
  }
}

/** The members of a request that its token count takes. */
function countedOf({
  input,
  instructions,
  model,
  parallel_tool_calls,
  reasoning,
  text,
  tool_choice,
  tools,
  truncation,
}: WireRequest): InputTokenCountParams {
  const asked = { model, input, instructions, reasoning, text, tools, tool_choice }
  // The types of the two requests differ in details of the choice of a tool.
  return { ...asked, parallel_tool_calls, truncation } as InputTokenCountParams
}
