import { itemsOf, membersOf, textIn, type Members } from '../wire/any-json.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import {
  citationOf,
  citationsShownMax,
  queryIn,
  searchesShownMax,
  sourcesIn,
  type WebCitation,
  type WebSearch,
} from '../wire/web-search.ts'

/** Reads the searches and the citations of an answer, block by block. */
type SearchReader = {
  /** A search has ended with this block; undefined for other blocks. */
  found(block: Members): WebSearch | undefined
  /** A search of the vendor begins with this block, or its input is complete. */
  asked(block: Members): void
  /** Cites the sources of the text from `start` to before `end`. */
  cite(citations: readonly unknown[], start: number, end: number): void
  /** The citations since the last call. */
  take(): WebCitation[]
}

function searchReader(texts: VendorTexts): SearchReader {
  const queries = new Map<unknown, string>()
  let [searches, cited] = [0, 0]
  let citations: WebCitation[] = []
  return {
    asked: ({ id, input }) => {
      if (queries.size < searchesShownMax) queries.set(id, queryIn(membersOf(input)['query']))
    },
    found: (block) => {
      if (block['type'] !== 'web_search_tool_result' || searches >= searchesShownMax) {
        return undefined
      }
      const { tool_use_id: id, content } = block
      const query = queries.get(id) ?? ''
      const { error_code: code } = membersOf(content)
      const error = code === undefined ? {} : { error: texts.name(code) ?? 'unavailable' }
      const name = texts.name(id) ?? `srvtoolu_${searches}`
      searches++
      return { id: name, query, sources: sourcesIn(itemsOf(content).map(membersOf)), ...error }
    },
    cite: (list, start, end) => {
      const known = new Set<string>()
      for (const one of list) {
        const citation = citationOf(membersOf(one), start, end)
        if (citation === undefined || known.has(citation.url_citation.url)) continue
        if (cited++ >= citationsShownMax) return
        known.add(citation.url_citation.url)
        citations.push(citation)
      }
    },
    take: () => {
      const taken = citations
      citations = []
      return taken
    },
  }
}

/** Whether the block begins a search of the vendor. */
export function isSearch(block: Members): boolean {
  return block['type'] === 'server_tool_use' && block['name'] === 'web_search'
}

/** Whether the block is the result of a search that did not fail. */
export function isCharged({ type, content }: Members): boolean {
  return type === 'web_search_tool_result' && Array.isArray(content)
}

/** The searches of a whole answer and the citations of its text, which is that of all blocks. */
export function searchesIn(blocks: readonly unknown[], texts: VendorTexts) {
  const reader = searchReader(texts)
  const searches: WebSearch[] = []
  let at = 0
  for (const block of blocks.map(membersOf)) {
    if (isSearch(block)) reader.asked(block)
    const search = reader.found(block)
    if (search !== undefined) searches.push(search)
    if (block['type'] !== 'text') continue
    const end = at + (textIn(block['text']) ?? '').length
    reader.cite(itemsOf(block['citations']), at, end)
    at = end
  }
  const citations = reader.take()
  return {
    ...(citations.length === 0 ? {} : { annotations: citations }),
    ...(searches.length === 0 ? {} : { web_searches: searches }),
  }
}

/** Longer input of a search than any model writes. */
const inputLengthMax = 16_384

/** Reads the searches of a stream; gives JSON deltas for its events. */
export function streamedSearches(texts: VendorTexts) {
  const reader = searchReader(texts)
  let [at, start, charged] = [0, 0, 0]
  let cited: unknown[] = []
  let open: { id: unknown; json: string } | undefined
  const pending = (): string[] => {
    const annotations = reader.take()
    return annotations.length === 0 ? [] : [JSON.stringify({ annotations })]
  }
  const begin = (block: Members): string[] => {
    if (block['type'] === 'text') {
      start = at
      at += (textIn(block['text']) ?? '').length
      cited = [...itemsOf(block['citations'])]
    }
    if (isSearch(block)) {
      open = { id: block['id'], json: '' }
      return pending()
    }
    const search = reader.found(block)
    if (isCharged(block)) charged++
    return search === undefined ? [] : [JSON.stringify({ web_searches: [search] })]
  }
  const add = (delta: Members): void => {
    const json = textIn(delta['partial_json']) ?? ''
    if (delta['type'] === 'text_delta') at += (textIn(delta['text']) ?? '').length
    if (delta['type'] === 'citations_delta' && cited.length < citationsShownMax) {
      cited.push(delta['citation'])
    }
    if (open !== undefined && open.json.length + json.length <= inputLengthMax) open.json += json
  }
  const end = (): void => {
    if (open !== undefined) reader.asked({ id: open.id, input: parsed(open.json) })
    reader.cite(cited, start, at)
    open = undefined
    cited = []
  }
  return {
    /** Deltas that come before that of the event itself. */
    read: (event: Members): string[] => {
      switch (event['type']) {
        case 'content_block_start':
          return begin(membersOf(event['content_block']))
        case 'content_block_delta':
          add(membersOf(event['delta']))
          return []
        default:
          end()
          return []
      }
    },
    pending,
    /** The searches so far that the vendor charges. */
    counted: () => charged,
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
