import type { components } from '../../../generated/types.ts'
import { jsonObject } from '../../core/any-json.ts'
import { writeClientCall, type ClientToolType } from './client-tools.ts'
import { itemPrefixes, type Open, type OutputItem, type Place } from './item.ts'
import { inputArgument } from './tools.ts'

type Schemas = components['schemas']
type Called = { callId: string; name: string; namespace?: string }

const callForms = {
  function: { type: 'function_call', member: 'arguments', event: 'function_call_arguments' },
  custom: { type: 'custom_tool_call', member: 'input', event: 'custom_tool_call_input' },
} as const

/** Begins the item of a call. */
export function openCall(kind: keyof typeof callForms, { callId, name, namespace }: Called) {
  const { type, member, event } = callForms[kind]
  return ({ index, suffix, emit }: Place): Open => {
    const id = `${itemPrefixes[type]}_${suffix}`
    const within = namespace === undefined ? {} : { namespace }
    const at = { item_id: id, output_index: index }
    let text = ''
    // The member fits the type, as the table above shows.
    const itemOf = (status: Schemas['ResponseItemStatus']) =>
      ({ id, type, call_id: callId, name, ...within, [member]: text, status }) as OutputItem
    emit('response.output_item.added', { output_index: index, item: itemOf('in_progress') })
    return {
      kind: 'call',
      add: (delta) => {
        text += delta
        if (delta !== '') emit(`response.${event}.delta`, { ...at, delta })
      },
      end: (status) => {
        const named = kind === 'function' ? { name } : {}
        emit(`response.${event}.done`, { ...at, ...named, [member]: text })
        return itemOf(status)
      },
    }
  }
}

/**
 * Begins the item of a tool that the vendor got as a function. A call whose arguments are not those of the tool
 * is the call of a function, which the client refuses to the model.
 */
export function openWrapped({ client, ...called }: Called & { client?: ClientToolType }) {
  return (place: Place): Open => {
    const custom = client === undefined ? openCall('custom', called)(place) : undefined
    let json = ''
    return {
      kind: 'call',
      add: (delta) => void (json += delta),
      end: (status) => {
        const item = client && writeClientCall(client, { ...called, json }, place)
        if (item !== undefined) return item
        const call = custom ?? openCall('function', called)(place)
        call.add(custom === undefined ? json : inputIn(json))
        return call.end(status)
      },
    }
  }
}

/** The input in the arguments of a wrapped custom tool; the unchanged arguments if they have none. */
function inputIn(json: string): string {
  const input = jsonObject(json)?.[inputArgument]
  return typeof input === 'string' ? input : json
}
