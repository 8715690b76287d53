import type { components } from '../../../generated/types.ts'

type Schemas = components['schemas']
export type OutputItem = Schemas['ResponseOutputItem']
/** Writes an event; `members` are all but its type and number. */
export type Emit = (type: Schemas['ResponseEventType'], members: object) => void

/** Where an item begins. */
export type Place = { index: number; suffix: string; emit: Emit }

/** An item that is not complete; `end` completes it and emits its last events. */
export type Open = {
  kind: 'reasoning' | 'text' | 'refusal' | 'call'
  add(text: string): void
  /** Adds sources of a text that begins at `start` of the answer. */
  cite?(citations: readonly Schemas['WebCitation'][], start: number): void
  end(status: Schemas['ResponseItemStatus'], sealed?: string): OutputItem
}

type KnownItem = Schemas['ResponseTypedItem'] | Schemas['ResponseInputMessage']

/** Begins the ids of items that have none. */
export const itemPrefixes: Readonly<Record<Schemas['ResponseItemType'], string>> = {
  message: 'msg',
  function_call: 'fc',
  function_call_output: 'fco',
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctco',
  reasoning: 'rs',
  additional_tools: 'at',
  image_generation_call: 'ig',
  web_search_call: 'ws',
  tool_search_call: 'tsc',
  tool_search_output: 'tso',
  apply_patch_call: 'apc',
  apply_patch_call_output: 'apco',
  shell_call: 'sh',
  shell_call_output: 'sho',
  local_shell_call: 'lsh',
  local_shell_call_output: 'lsho',
  computer_call: 'cc',
  computer_call_output: 'cco',
  configuration_update: 'cu',
  compaction: 'cmp',
  compaction_trigger: 'cmt',
  item_reference: 'ref',
}

/** Whether the gateway knows the type of an item. */
export function isKnownItem(item: Schemas['ResponseInputItem']): item is KnownItem {
  return !('type' in item) || Object.hasOwn(itemPrefixes, item.type)
}
