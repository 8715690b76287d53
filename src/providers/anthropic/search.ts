import { jsonObject, itemsOf, membersOf, textIn, type Members } from '../../core/any-json.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import {
  citationOf,
  citationsShownMax,
  queryIn,
  searchMembers,
  searchesShownMax,
  sourcesIn,
  type WebCitation,
  type WebSearch,
} from '../wire/web-search.ts'

/** Whether the block is the result of a search that did not fail. */
export function isCharged({ type, content }: Members): boolean {
  return type === 'web_search_tool_result' && Array.isArray(content)
}

/** The members of a message for its searches and for the sources of its text. */
type Found = { annotations?: WebCitation[]; web_searches?: WebSearch[] }

/** The searches of a whole answer and the citations of its text, which is that of all blocks. */
export function searchesIn(blocks: readonly unknown[], texts: VendorTexts): Found {
  const { read, pending } = searchReader(texts)
  const found = blocks.flatMap((block) => [
    ...read({ type: 'content_block_start', content_block: block }),
    ...read({ type: 'content_block_stop' }),
  ])
  const searches = found.flatMap((one) => one.web_searches ?? [])
  const citations = [...found, ...pending()].flatMap((one) => one.annotations ?? [])
  return searchMembers({ searches, citations })
}

/** Longer input of a search than any model writes. */
const inputLengthMax = 16_384

/** Reads the searches and the citations of an answer from its events. */
export function searchReader(texts: VendorTexts) {
  const queries = new Map<unknown, string>()
  const citations = citationReader()
  let [at, start, charged, searches] = [0, 0, 0, 0]
  let cited: unknown[] = []
  let open: { id: unknown; input: unknown; json: string } | undefined
  const pending = (): Found[] => {
    const annotations = citations.take()
    return annotations.length === 0 ? [] : [{ annotations }]
  }
  const searchIn = (block: Members): WebSearch | undefined => {
    const { type, tool_use_id: id, content } = block
    if (type !== 'web_search_tool_result' || searches >= searchesShownMax) return undefined
    const { error_code: code } = membersOf(content)
    const error = code === undefined ? {} : { error: texts.name(code) ?? 'unavailable' }
    const name = texts.name(id) ?? `srvtoolu_${searches}`
    searches++
    const sources = sourcesIn(itemsOf(content).map(membersOf))
    return { id: name, query: queries.get(id) ?? '', sources, ...error }
  }
  const begin = (block: Members): Found[] => {
    const { type, id, name, input } = block
    if (type === 'text') {
      start = at
      at += (textIn(block['text']) ?? '').length
      cited = [...itemsOf(block['citations'])]
    }
    if (type === 'server_tool_use' && name === 'web_search') {
      open = { id, input, json: '' }
      return pending()
    }
    const search = searchIn(block)
    if (isCharged(block)) charged++
    return search === undefined ? [] : [{ web_searches: [search] }]
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
    if (open !== undefined && queries.size < searchesShownMax) {
      const input = open.json === '' ? open.input : jsonObject(open.json)
      queries.set(open.id, queryIn(membersOf(input)['query']))
    }
    open = undefined
    citations.read(cited, start, at)
    cited = []
  }
  return {
    /** The members of deltas that come before that of the event itself. */
    read: (event: Members): Found[] => {
      if (event['type'] === 'content_block_start') return begin(membersOf(event['content_block']))
      if (event['type'] === 'content_block_delta') add(membersOf(event['delta']))
      else end()
      return []
    },
    pending,
    /** The searches so far that the vendor charges. */
    counted: () => charged,
  }
}

/** Collects the sources of texts, each once for a text. */
function citationReader() {
  let count = 0
  let citations: WebCitation[] = []
  return {
    /** The sources of the text from `start` to before `end`. */
    read: (list: readonly unknown[], start: number, end: number): void => {
      const known = new Set<string>()
      for (const one of list) {
        const citation = citationOf(membersOf(one), start, end)
        if (citation === undefined || known.has(citation.url_citation.url)) continue
        if (count++ >= citationsShownMax) return
        known.add(citation.url_citation.url)
        citations.push(citation)
      }
    },
    /** The citations since the last call. */
    take: (): WebCitation[] => {
      const taken = citations
      citations = []
      return taken
    },
  }
}
