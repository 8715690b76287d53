import type { WebSearchTool } from 'openai/resources/responses/responses'
import type { ChatRequest } from '../../../core/chat/chat.ts'
import { searchDemand } from '../../../core/chat/web-search.ts'
import type { Target } from '../../../core/model.ts'
import type { Usage } from '../../../core/money/price.ts'
import { itemsOf, membersOf, textIn, type Members } from '../../../core/any-json.ts'
import type { Notes } from '../../wire/fields.ts'
import type { VendorTexts } from '../../transport/vendor-texts.ts'
import {
  citationOf,
  citationsShownMax,
  locationOf,
  queryIn,
  refuseSearch,
  searchesShownMax,
  searchOf,
  sourcesIn,
  withCounted,
  withSearches,
  type WebCitation,
  type WebSearch,
} from '../../wire/web-search.ts'

/** Microsoft charges another price for searches, which is not in the catalog. */
const unpriced = 'azure'

/** Whether the vendor searches the web for the request. */
export function searchesFor(
  { web_search_options: search }: ChatRequest,
  { model, provider }: Target,
): boolean {
  return search != null && model.prices.webSearch !== undefined && provider.id !== unpriced
}

/** The tool that searches the web, and the limit of its calls (docs/vendors.md#openai-responses). */
export function writeSearch(
  request: ChatRequest,
  target: Target,
  notes: Notes,
): { tools: WebSearchTool[]; max_tool_calls: number } | undefined {
  const search = searchOf(request, target, notes)
  if (search === undefined) return undefined
  if (!searchesFor(request, target)) {
    refuseSearch(request, target, notes)
    return undefined
  }
  const { search_context_size: size, external_web_access: access } = search
  const { allowed_domains: allowed } = search
  if (search.blocked_domains !== undefined) {
    const message = 'OpenAI takes the domains to search, not those to leave out.'
    notes.problems.push({ param: 'web_search_options.blocked_domains', message })
  }
  const tool: WebSearchTool = {
    type: 'web_search',
    ...(size == null ? {} : { search_context_size: size }),
    ...locationOf(search, notes),
    ...(allowed === undefined ? {} : { filters: { allowed_domains: allowed } }),
    ...(access === undefined ? {} : { external_web_access: access }),
  }
  return { tools: [tool], max_tool_calls: searchDemand(request) }
}

/** The search in an output item; undefined for other items and other actions, such as opening a page. */
export function searchIn(item: Members, texts: VendorTexts): WebSearch | undefined {
  const action = membersOf(item['action'])
  if (item['type'] !== 'web_search_call' || action['type'] !== 'search') return undefined
  const queries = [action['query'], ...itemsOf(action['queries'])]
  const failed = item['status'] === 'failed' ? { error: 'failed' } : {}
  return {
    id: texts.name(item['id']) ?? 'ws_0',
    query: queryIn(queries.find((query) => textIn(query) !== undefined)),
    sources: sourcesIn(itemsOf(action['sources']).map(membersOf)),
    ...failed,
  }
}

/** The citations of a message whose text begins at `start` of the answer. */
export function citationsIn(item: Members, start: number): WebCitation[] {
  let at = start
  const citations = itemsOf(item['content']).flatMap((one) => {
    const part = membersOf(one)
    const begin = at
    at += (textIn(part['text']) ?? '').length
    return itemsOf(part['annotations']).flatMap((annotation) => {
      const { type, start_index: from, end_index: to, ...source } = membersOf(annotation)
      if (type !== 'url_citation') return []
      return citationOf(source, begin + Number(from), begin + Number(to)) ?? []
    })
  })
  return citations.slice(0, citationsShownMax)
}

/** A usage with the searches among the output items. Failed ones and other actions are not charged. */
export function withSearchCalls(usage: Usage, output: unknown): Usage {
  return withSearches(usage, itemsOf(output).map(membersOf).filter(isCharged).length)
}

function isCharged({ type, status, action }: Members): boolean {
  const isSearch = type === 'web_search_call' && membersOf(action)['type'] === 'search'
  return isSearch && status !== 'failed'
}

/** Counts the searches of a stream from its events about items; a search that has begun counts until it fails. */
export function searchCounter() {
  const charged = new Set<unknown>()
  return {
    read: ({ type, item, output_index: at }: Members): void => {
      const { type: kind, ...call } = membersOf(item)
      if (kind !== 'web_search_call' || charged.size > searchesShownMax) return
      if (type === 'response.output_item.added' || isCharged({ type: kind, ...call }))
        charged.add(at)
      else charged.delete(at)
    },
    /** The usage of the stream so far. */
    addTo: (usage: Usage | undefined) => withCounted(usage, charged.size),
  }
}
