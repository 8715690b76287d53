import type { components } from '../../../generated/types.ts'
import { clientCall, type ClientToolType } from './client-tools.ts'
import { itemPrefixes, type Open, type OutputItem, type Place } from './item.ts'
import { inputArgument } from './tools.ts'

type Schemas = components['schemas']
type Called = { callId: string; name: string; namespace?: string }

const callForms = {
  function: {
    type: 'function_call',
    prefix: 'fc',
    member: 'arguments',
    event: 'response.function_call_arguments',
  },
  custom: {
    type: 'custom_tool_call',
    prefix: 'ctc',
    member: 'input',
    event: 'response.custom_tool_call_input',
  },
} as const

/** Begins the item of a call. */
export function openCall(kind: keyof typeof callForms, { callId, name, namespace }: Called) {
  const { type, prefix, member, event } = callForms[kind]
  return ({ index, suffix, emit }: Place): Open => {
    const id = `${prefix}_${suffix}`
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
        if (delta !== '') emit(`${event}.delta`, { ...at, delta })
      },
      end: (status) => {
        const named = kind === 'function' ? { name } : {}
        emit(`${event}.done`, { ...at, ...named, [member]: text })
        return itemOf(status)
      },
    }
  }
}

/** Begins the item of a custom tool that the vendor got as a function: its input is inside of the JSON of the arguments. */
export function openWrapped(called: Called) {
  return (place: Place): Open => {
    const custom = openCall('custom', called)(place)
    let json = ''
    return {
      ...custom,
      add: (delta) => {
        json += delta
      },
      end: (status) => {
        custom.add(inputIn(json))
        return custom.end(status)
      },
    }
  }
}

/**
 * Begins the item of a tool that the client runs, which the vendor got as a function. A call whose arguments are
 * not those of the tool is the call of a function, which the client refuses to the model.
 */
export function openClient(type: ClientToolType, called: Called) {
  return (place: Place): Open => {
    const { index, suffix, emit } = place
    let json = ''
    return {
      kind: 'call',
      add: (delta) => void (json += delta),
      end: (status) => {
        const id = `${itemPrefixes[`${type}_call`]}_${suffix}`
        const item = clientCall(type, { id, call_id: called.callId }, json)
        if (item !== undefined) {
          const added = { ...item, status: 'in_progress' }
          emit('response.output_item.added', { output_index: index, item: added })
          return item
        }
        const call = openCall('function', called)(place)
        call.add(json)
        return call.end(status)
      },
    }
  }
}

/** The input in the arguments of a wrapped custom tool; the arguments as they are if they have none. */
function inputIn(json: string): string {
  try {
    const input: unknown = Reflect.get(JSON.parse(json) as object, inputArgument)
    return typeof input === 'string' ? input : json
  } catch {
    return json
  }
}
