import type { components } from '../../../generated/types.ts'
import { GatewayError } from '../../core/error.ts'
import type { StoredResponses } from '../../core/stored-responses.ts'
import { shortened } from '../../core/words/shorten.ts'
import type { Operation } from '../../http/operation.ts'

type Schemas = components['schemas']
type Options = { storedResponses: StoredResponses }

/** GET /v1/responses/{response_id} */
export function retrieveResponse({ storedResponses }: Options): Operation<'retrieveResponse'> {
  return async ({ path: { response_id: id }, query, caller, hold }) => {
    if (query.stream) {
      const text = 'A stored response is not streamed again. Leave out `stream`.'
      throw new GatewayError('unsupported_value', text, { param: 'stream' })
    }
    const stored = await storedResponses.get(caller, id, hold)
    if (stored === undefined) throw notFound(id)
    return { status: 200, json: stored.response }
  }
}

/** DELETE /v1/responses/{response_id} */
export function deleteResponse({ storedResponses }: Options): Operation<'deleteResponse'> {
  return async ({ path: { response_id: id }, caller }) => {
    if (!(await storedResponses.remove(caller, id))) throw notFound(id)
    const json: Schemas['DeletedResponse'] = { id, object: 'response', deleted: true }
    return { status: 200, json }
  }
}

/** GET /v1/responses/{response_id}/input_items */
export function listResponseInputItems({
  storedResponses,
}: Options): Operation<'listResponseInputItems'> {
  return async ({ path: { response_id: id }, query, caller, hold }) => {
    const stored = await storedResponses.get(caller, id, hold)
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
