import type { components } from '../../../generated/types.ts'
import { restoreBase64 } from '../../core/chat/read-chat.ts'
import { GatewayError, withName } from '../../core/error.ts'
import { withNames } from '../../core/model.ts'
import type { Operation } from '../../http/operation.ts'
import { currentIn, isCompacting, noSummary } from './compaction.ts'
import { answer } from './create-response.ts'
import { readHistory, withId } from './history.ts'
import type { ResponseRequest } from './request.ts'
import type { ModelResponse } from './response.ts'

type Schemas = components['schemas']

/** POST /v1/responses/compact (docs/behaviour.md#compaction). */
export function compactResponse(
  options: Parameters<typeof answer>[1],
): Operation<'compactResponse'> {
  return async (call) => {
    const { texts, memory } = call
    const requestBody: ResponseRequest = { ...call.body, input: call.body.input ?? [] }
    for (const name of ['stream', 'background'] as const)
      if (requestBody[name]) throw unsupported(name)
    const compaction = { ...call, body: { ...requestBody, store: false } }
    const { body, nameOf } = await readHistory(compaction, options.storedResponses, options.clock)
    const { input } = body
    if (input.length === 0) throw nothingToCompact()
    try {
      const trigger = isCompacting(input) ? [] : [{ type: 'compaction_trigger' as const }]
      const whole = { ...body, input: [...input, ...trigger], previous_response_id: null }
      const answered = await answer({ ...call, body: whole }, options)
      // The answer to a request without `stream`.
      const { id, created_at, output, usage, warnings = [] } = answered.json as ModelResponse
      const made = output.findLast((item) => item.type === 'compaction')
      if (made === undefined || usage === null) throw noSummary()
      const items = [...restoreBase64(input, texts, memory), made]
      const kept = items.filter(currentIn(items)).map((item) => withId(item))
      const json: Schemas['CompactedResponse'] = {
        id,
        object: 'response.compaction',
        created_at,
        output: kept.filter(({ type }) => type === 'message' || type === 'compaction'),
        usage,
        ...(warnings.length === 0 ? {} : { warnings: withNames(warnings, nameOf) }),
      }
      return { ...answered, json }
    } catch (thrown) {
      throw withName(thrown, nameOf)
    }
  }
}

function unsupported(param: string): GatewayError {
  const text = `A compaction has no '${param}'. Send an item \`compaction_trigger\` to /v1/responses.`
  return new GatewayError('unsupported_parameter', text, { param })
}

function nothingToCompact(): GatewayError {
  const text = 'Send the conversation in `input`, or a `previous_response_id`.'
  return new GatewayError('missing_required_parameter', text, { param: 'input' })
}
