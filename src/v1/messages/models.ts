import type { IncomingMessage } from 'node:http'
import type { components } from '../../../generated/types.ts'
import { GatewayError } from '../../core/error.ts'
import type { Model } from '../../core/model.ts'

type Schemas = components['schemas']
type PageQuery = {
  limit?: number | undefined
  after_id?: string | undefined
  before_id?: string | undefined
}

/** Whether a client of Anthropic's API asks; OpenAI's clients request the same path. */
export function sendsVersion({ headers }: IncomingMessage): boolean {
  return headers['anthropic-version'] !== undefined
}

const limitStandard = 1000

type Named = { id: string; model: Model }

/** A page of the models in Anthropic's form (docs/messages.md#models). Throws a GatewayError. */
export function modelPage(
  models: readonly Named[],
  page: PageQuery,
): Schemas['AnthropicModelList'] {
  const { limit = limitStandard, after_id: after, before_id: before } = page
  const placeOf = (param: 'after_id' | 'before_id', id: string) => {
    const place = models.findIndex((one) => one.id === id)
    if (place >= 0) return place
    const text = `'${param}' is not the id of a model in the list.`
    throw new GatewayError('invalid_value', text, { param })
  }
  const start = after === undefined ? 0 : placeOf('after_id', after) + 1
  const end = before === undefined ? models.length : placeOf('before_id', before)
  const asked = models.slice(start, end)
  // Pages before an id are read backwards.
  const isBackwards = after === undefined && before !== undefined
  const shown = isBackwards ? asked.slice(-limit) : asked.slice(0, limit)
  return {
    data: shown.map(messagesModel),
    has_more: shown.length < asked.length,
    first_id: shown[0]?.id ?? null,
    last_id: shown.at(-1)?.id ?? null,
  }
}

/** A model in Anthropic's form. */
export function messagesModel({ id, model: { row } }: Named): Schemas['AnthropicModel'] {
  return {
    type: 'model',
    id,
    display_name: row.name,
    // Anthropic sends the epoch for an unknown date.
    created_at: `${row.released_at ?? '1970-01-01'}T00:00:00Z`,
    max_input_tokens: row.context_window ?? null,
    max_tokens: row.max_output_tokens ?? null,
  }
}
