import type { components } from '../../../generated/types.ts'
import type { BackgroundCalls } from '../../core/resilience/background-calls.ts'
import type { StoredResponses } from '../../core/stored-responses.ts'
import { shortened, GatewayError } from '../../core/error.ts'
import type { Operation } from '../../http/operation.ts'

type Schemas = components['schemas']
type Options = { storedResponses: StoredResponses; backgroundCalls: BackgroundCalls }

/** GET /v1/responses/{response_id} */
export function retrieveResponse({ storedResponses }: Options): Operation<'retrieveResponse'> {
  return async ({ path: { response_id: id }, query, caller, memory }) => {
    if (query.stream) {
      const text = 'A stored response is not streamed again. Leave out `stream`.'
      throw new GatewayError('unsupported_value', text, { param: 'stream' })
    }
    const stored = await storedResponses.get(caller, id, memory)
    if (stored === undefined) throw notFound(id)
    return { status: 200, json: stored.response }
  }
}

/** DELETE /v1/responses/{response_id} */
export function deleteResponse({
  storedResponses,
  backgroundCalls,
}: Options): Operation<'deleteResponse'> {
  return async ({ path: { response_id: id }, caller }) => {
    if (!(await storedResponses.remove(caller, id))) throw notFound(id)
    backgroundCalls.ended(id)
    const json: Schemas['DeletedResponse'] = { id, object: 'response', deleted: true }
    return { status: 200, json }
  }
}

/** POST /v1/responses/{response_id}/cancel */
export function cancelResponse({
  storedResponses,
  backgroundCalls,
}: Options): Operation<'cancelResponse'> {
  return async ({ path: { response_id: id }, caller, memory }) => {
    const stored = await storedResponses.get(caller, id, memory)
    if (stored === undefined) throw notFound(id)
    const { response } = stored
    if (!response.background) {
      const text =
        'Cannot cancel a synchronous response. Only responses with `background: true` can be cancelled; to stop a streamed one, close its connection.'
      throw new GatewayError('invalid_value', text, { param: 'response_id' })
    }
    if (response.status !== 'in_progress') return { status: 200, json: response }
    const cancelled = { ...response, status: 'cancelled' as const }
    const outcome = await storedResponses.end(caller, { ...stored, response: cancelled }, memory)
    if (outcome === 'stored') {
      backgroundCalls.ended(id)
      return { status: 200, json: cancelled }
    }
    // It has ended, or was deleted, since it was read.
    const ended = outcome === 'ended' ? await storedResponses.get(caller, id, memory) : undefined
    if (ended !== undefined) return { status: 200, json: ended.response }
    if (outcome === 'ended') throw notFound(id)
    const text = 'The gateway could not store the cancellation. Try again in a moment.'
    throw new GatewayError('overloaded', text, { retryAfterSeconds: 1 })
  }
}

/** GET /v1/responses/{response_id}/input_items */
export function listResponseInputItems({
  storedResponses,
}: Pick<Options, 'storedResponses'>): Operation<'listResponseInputItems'> {
  return async ({ path: { response_id: id }, query, caller, memory }) => {
    const stored = await storedResponses.get(caller, id, memory)
    if (stored === undefined) throw notFound(id)
    const { after, order, limit } = query
    const items = order === 'asc' ? stored.input : stored.input.toReversed()
    const start = after === undefined ? 0 : items.findIndex((item) => item.id === after) + 1
    if (after !== undefined && start === 0) {
      const text = `The response has no input item '${shortened(after, 100)}'.`
      throw new GatewayError('invalid_value', text, { param: 'after' })
    }
    const data = items.slice(start, start + limit)
    const json: Schemas['ResponseItemList'] = {
      object: 'list',
      data,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: items.length > start + limit,
    }
    return { status: 200, json }
  }
}

function notFound(id: string): GatewayError {
  const text = `Response with id '${shortened(id, 100)}' not found.`
  return new GatewayError('not_found', text, { param: 'response_id' })
}
