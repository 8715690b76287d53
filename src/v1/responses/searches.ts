import type { components } from '../../../generated/types.ts'
import type { OutputItem, Place } from './item.ts'

type Schemas = components['schemas']
/** A source of a text in the form of this API. */
export type Annotation = { type: 'url_citation' } & Schemas['WebCitation']['url_citation']

/** The sources of a text of `length` that begins at `start` of the answer, with places in this text. */
export function annotationsOf(
  citations: readonly Schemas['WebCitation'][],
  start: number,
  length: number,
): Annotation[] {
  return citations.flatMap(({ type, url_citation: { start_index, end_index, ...source } }) => {
    const [from, to] = [start_index - start, end_index - start]
    return from < 0 || to > length ? [] : { type, start_index: from, end_index: to, ...source }
  })
}

/** Emits the events of a search of the vendor but the last. Returns its item. */
export function writeSearch(
  { query, sources, error }: Schemas['WebSearch'],
  { index, suffix, emit }: Place,
  showsSources: boolean,
): OutputItem {
  const id = `ws_${suffix}`
  const at = { item_id: id, output_index: index }
  const action = {
    type: 'search',
    query,
    queries: [query],
    ...(showsSources ? { sources: sources.map(({ url }) => ({ type: 'url', url })) } : {}),
  }
  const item = { id, type: 'web_search_call' as const, action }
  emit('response.output_item.added', {
    output_index: index,
    item: { ...item, status: 'in_progress' },
  })
  emit('response.web_search_call.in_progress', at)
  emit('response.web_search_call.searching', at)
  if (error === undefined) emit('response.web_search_call.completed', at)
  return { ...item, status: error === undefined ? 'completed' : 'failed' }
}
