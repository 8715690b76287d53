import type { components } from '../../../generated/types.ts'
import prefixes from './item-prefixes.json' with { type: 'json' }

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
export const itemPrefixes: Readonly<Record<Schemas['ResponseItemType'], string>> = prefixes

/** Whether the gateway knows the type of an item. */
export function isKnownItem(item: Schemas['ResponseInputItem']): item is KnownItem {
  return !('type' in item) || Object.hasOwn(itemPrefixes, item.type)
}
