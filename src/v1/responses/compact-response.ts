import { randomUUID } from 'node:crypto'
import { bodyMembers } from '../../../generated/operations.ts'
import type { components } from '../../../generated/types.ts'
import { GatewayError } from '../../core/error.ts'
import type { Warning } from '../../core/model.ts'
import type { Operation } from '../../http/operation.ts'
import { restoreBase64 } from '../../http/read-body.ts'
import { currentIn, isCompacting, isMessage, noSummary } from './compaction.ts'
import { answer, type CreateOptions } from './create-response.ts'
import { readHistory, withId } from './history.ts'
import type { ModelResponse } from './response.ts'

type Schemas = components['schemas']

/** POST /v1/responses/compact (docs/behaviour.md#compaction). */
export function compactResponse(options: CreateOptions): Operation<'compactResponse'> {
  return async (call) => {
    const { body, texts, hold } = call
    refuseOthers(body)
    const whole = { ...call, body: { ...body, input: body.input ?? [] } }
    const { body: asked, nameOf } = await readHistory(whole, options.storedResponses, options.clock)
    const { input } = asked
    const named = (warning: Warning) => ({ ...warning, param: nameOf(warning.param) })
    if (input.length === 0) throw nothingToCompact()
    const members = { stream: false, background: false, store: false, previous_response_id: null }
    const trigger = isCompacting(input) ? [] : [{ type: 'compaction_trigger' as const }]
    const request = { ...asked, ...members, input: [...input, ...trigger] }
    try {
      const answered = await answer({ ...call, body: request }, options)
      // Only a stream has another body.
      const { id, created_at, output, usage, warnings = [] } = answered.json as ModelResponse
      const made = output.findLast((item) => item.type === 'compaction')
      if (made === undefined || usage === null) throw noSummary()
      const items = [...restoreBase64(input, texts, hold), made]
      const json: Schemas['CompactedResponse'] = {
        id,
        object: 'response.compaction',
        created_at,
        output: items
          .filter(currentIn(items))
          .filter((item) => item === made || isMessage(item))
          .map((item) => withId(item, randomUUID().replaceAll('-', ''))),
        usage,
        ...(warnings.length === 0 ? {} : { warnings: warnings.map(named) }),
      }
      return { ...answered, json }
    } catch (thrown) {
      throw thrown instanceof GatewayError ? thrown.named(nameOf) : thrown
    }
  }
}

const own: ReadonlySet<string> = new Set(bodyMembers.compactResponse)

/** Refuses what a response has and a compaction does not. */
function refuseOthers(body: object): void {
  for (const name of bodyMembers.createResponse) {
    const value: unknown = Reflect.get(body, name)
    if (own.has(name) || value == null || value === false) continue
    const text = `A compaction has no '${name}'. Leave it out, or send the item \`compaction_trigger\` to /v1/responses.`
    throw new GatewayError('unsupported_parameter', text, { param: name })
  }
}

function nothingToCompact(): GatewayError {
  const text = 'Send the conversation in `input`, or a `previous_response_id`.'
  return new GatewayError('missing_required_parameter', text, { param: 'input' })
}
