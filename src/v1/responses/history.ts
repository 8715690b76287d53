import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { components } from '../../../generated/types.ts'
import { restoreBase64 } from '../../core/chat/read-chat.ts'
import { dropped } from '../../core/model.ts'
import type { StoredItem, StoredResponse, StoredResponses } from '../../core/stored-responses.ts'
import { shortened, GatewayError } from '../../core/error.ts'
import type { OperationCall } from '../../http/operation.ts'
import { currentIn } from './compaction.ts'
import type { InputItem } from './conversation.ts'
import { itemPrefixes } from './item.ts'
import type { ResponseRequest } from './request.ts'

type ModelResponse = components['schemas']['ModelResponse']
type Call = Pick<OperationCall<'createResponse'>, 'body' | 'caller' | 'memory' | 'texts'>

/** A request with the items that it refers to. */
export type History = Awaited<ReturnType<typeof readHistory>>

/**
 * Adds the previous response and the items that a request refers to (docs/behaviour.md#stored-responses).
 * Throws a GatewayError if one of them is missing.
 */
export async function readHistory(call: Call, responses: StoredResponses, clock: () => number) {
  const { body } = call
  const isOn = responses.isOn()
  if (!isOn) refuseStored(body)
  const { previous_response_id: previousId } = body
  const before = previousId == null ? [] : await previousItems(call, previousId, responses)
  const items = await resolved(call, responses)
  const stores = isOn && body.store !== false
  const { put, end } = writer(call, { before, items, responses, clock })
  let isBegun = false
  return {
    /** The request with the whole conversation as `input`. */
    body: { ...body, input: [...before, ...items] },
    /** Whether the response will be stored. */
    stores,
    /** The caller's name for a parameter of `body`. */
    nameOf: (param: string) => {
      const [, index = '', rest = ''] = /^input\[(\d+)\](.*)$/.exec(param) ?? []
      if (index === '') return param
      const place = Number(index) - before.length
      if (place < 0) return 'previous_response_id'
      return typeof body.input === 'string' ? 'input' : `input[${place}]${rest}`
    },
    /**
     * Stores a response that goes on in the background; its process ends it before `runsUntil`. Throws a
     * GatewayError.
     */
    begin: async (response: ModelResponse, runsUntil: number) => {
      const outcome = await put(response, runsUntil)
      if (outcome !== 'stored') throw notBegun(outcome)
      isBegun = true
    },
    /** Stores the response; resolves with the response to print when it is durable. Never rejects. */
    store: async (response: ModelResponse) => {
      if (!stores) return response
      if (isBegun) {
        if ((await end(response)) === 'too_large') await end(notStorable(response))
        return response
      }
      const outcome = await put(response)
      return outcome === 'stored' ? response : notKept(response, reasons[outcome])
    },
  }
}

type Written = {
  /** The items of previous responses, and those of the request. */
  before: readonly StoredItem[]
  items: readonly InputItem[]
  responses: StoredResponses
  clock: () => number
}

/** Writes a response with its conversation, when it begins or ends. */
function writer({ caller, memory, texts }: Call, { before, items, responses, clock }: Written) {
  /** The ids of items that have none, the same at the begin of a response and at its end. */
  const ids = new Map<number, string>()
  const idAt = (index: number) => {
    const id = ids.get(index) ?? newItemId()
    ids.set(index, id)
    return id
  }
  const write = async <Outcome>(
    response: ModelResponse,
    how: (stored: StoredResponse) => Promise<Outcome>,
  ) => {
    try {
      const own = restoreBase64(items, texts, memory).map((item, index) =>
        withId(item, idAt(index)),
      )
      const input = [...before, ...own].filter(({ type }) => type !== 'compaction_trigger')
      return await how({ id: response.id, createdAtMs: clock(), input, response })
    } catch (error) {
      // No memory for the pictures of the request as texts.
      if (error instanceof GatewayError) return 'failed' as const
      throw error
    }
  }
  const endOnce = (response: ModelResponse) =>
    write(response, (stored) => responses.end(caller, stored, memory))
  return {
    put: (response: ModelResponse, runsUntil?: number) => {
      const more = runsUntil === undefined ? {} : { runsUntil }
      return write(response, (stored) => responses.put(caller, { ...stored, ...more }, memory))
    },
    /** Tries again if the store fails: the client has its answer and cannot send the request again. */
    end: async (response: ModelResponse) => {
      for (const pauseMs of endPausesMs) {
        const outcome = await endOnce(response)
        if (outcome !== 'failed') return outcome
        await sleep(pauseMs)
      }
      return endOnce(response)
    },
  }
}

/** Pauses before the next try; together shorter than the time in which an end is awaited (`background.ts`). */
const endPausesMs = [500, 2000, 8000]

const reasons = {
  too_large: 'The response is too large to be stored with its conversation.',
  failed: 'The gateway could not store the response.',
}

function notBegun(outcome: keyof typeof reasons): GatewayError {
  const text = `${reasons[outcome]} Leave out \`background\`, or try again.`
  if (outcome === 'failed') return new GatewayError('overloaded', text)
  return new GatewayError('request_too_large', text, { param: 'background' })
}

/** The rest of a response in the background that is too large to be stored. */
function notStorable(response: ModelResponse): ModelResponse {
  const error = { code: 'server_error', message: `${reasons.too_large} Leave out \`background\`.` }
  return { ...response, status: 'failed', completed_at: null, output: [], error }
}

/** The response of a call that is paid, so that it is returned although it is not stored. */
function notKept(response: ModelResponse, reason: string): ModelResponse {
  const warning = { ...dropped('store', true, reason), applied: false }
  return { ...response, store: false, warnings: [...(response.warnings ?? []), warning] }
}

/** Refuses what needs stored responses, if the gateway stores none. */
function refuseStored({
  store,
  background,
  previous_response_id: previousId,
  input,
}: ResponseRequest): void {
  const text = 'This gateway stores no responses. Send `store: false`'
  if (store === true) throw new GatewayError('unsupported_value', `${text}.`, { param: 'store' })
  if (background === true) {
    const remedy =
      'This gateway stores no responses. Leave out `background`, and send `stream: true`.'
    throw new GatewayError('unsupported_value', remedy, { param: 'background' })
  }
  const param = previousId == null ? referenceIn(input) : 'previous_response_id'
  if (param === undefined) return
  const message = `${text} and the whole conversation in \`input\`.`
  throw new GatewayError('unsupported_parameter', message, { param })
}

function referenceIn(input: ResponseRequest['input']): string | undefined {
  if (!Array.isArray(input)) return undefined
  const index = input.findIndex(isReference)
  return index < 0 ? undefined : `input[${index}].id`
}

type TypedItem = components['schemas']['ResponseTypedItem']

function isReference(item: InputItem): item is components['schemas']['ResponseItemReference'] {
  return 'type' in item && item.type === 'item_reference'
}

type PictureById = components['schemas']['ResponseImageCall'] & { id: string }

/** Whether an item names a picture that was stored: OpenAI Agents leaves its `result` out. */
function isPictureById(item: InputItem): item is PictureById {
  if (!('type' in item) || item.type !== 'image_generation_call') return false
  return item.id != null && item.result == null
}

/** The conversation up to and including the previous response; its instructions and tools are not carried over. */
async function previousItems(
  { caller, memory }: Call,
  id: string,
  responses: StoredResponses,
): Promise<StoredItem[]> {
  const found = await responses.get(caller, id, memory)
  if (found === undefined) {
    const text = `Previous response with id '${shortened(id, idLengthMax)}' not found.`
    throw new GatewayError('not_found', text, { param: 'previous_response_id' })
  }
  const { status } = found.response
  if (status !== 'completed' && status !== 'incomplete') {
    const remedy = status === 'in_progress' ? 'Wait until it has ended.' : 'Send its input again.'
    const text = `Previous response with id '${found.id}' is ${status} and cannot be continued. ${remedy}`
    throw new GatewayError('invalid_value', text, { param: 'previous_response_id' })
  }
  // Each item of an output has an id.
  const items = [...found.input, ...(found.response.output as StoredItem[])]
  return items.filter(currentIn(items))
}

const idLengthMax = 100

/** The items of `input` with references replaced by the stored items. */
async function resolved(
  { body: { input }, caller, memory }: Call,
  responses: StoredResponses,
): Promise<InputItem[]> {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  const ids = input.flatMap((item) => (isReference(item) || isPictureById(item) ? [item.id] : []))
  if (ids.length === 0 || !responses.isOn()) return input
  const found = await responses.items(caller, ids, memory)
  return input.map((item, index) => {
    if (isPictureById(item)) return found.get(item.id) ?? item
    if (!isReference(item)) return item
    const stored = found.get(item.id)
    if (stored !== undefined) return stored
    const text = `Item with id '${shortened(item.id, idLengthMax)}' not found. Send \`store: false\`, or the whole item.`
    throw new GatewayError('not_found', text, { param: `input[${index}].id` })
  })
}

const newItemId = () => randomUUID().replaceAll('-', '')

/** The stored form of an item: with an id, and a message with a list of parts, as clients expect it. */
export function withId(original: InputItem, newId = newItemId()): StoredItem {
  // Items of unknown types have no message either.
  const item = ('type' in original ? original : { type: 'message', ...original }) as TypedItem
  const id = item.id ?? `${itemPrefixes[item.type] ?? 'item'}_${newId}`
  if (item.type !== 'message' || typeof item.content !== 'string') return { ...item, id }
  const { content: text, role } = item
  const part =
    role === 'assistant'
      ? { type: 'output_text' as const, text, annotations: [] }
      : { type: 'input_text' as const, text }
  return { ...item, id, content: [part] }
}
