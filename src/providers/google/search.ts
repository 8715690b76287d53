import { dropped, type Target } from '../../core/model.ts'
import { itemsOf, membersOf, textIn } from '../../core/any-json.ts'
import type { Notes } from '../wire/fields.ts'
import type { FunctionRequest } from '../wire/function-tools.ts'
import {
  citationOf,
  citationsShownMax,
  liveSearchOf,
  queryIn,
  searchesShownMax,
  sourcesIn,
  searchMembers,
  type Searched,
} from '../wire/web-search.ts'

/**
 * The tool that searches the web (docs/vendors.md#gemini-search). Together with functions, Gemini wants its own
 * calls of the search back in the next request, for which the APIs of the gateway have no place.
 */
export function writeSearch(
  request: FunctionRequest,
  target: Target,
  notes: Notes,
): { tools?: { googleSearch: object }[] } {
  const search = liveSearchOf(request, target, notes)
  if (search === undefined) return {}
  const { id } = target.model.row
  const param = 'web_search_options'
  const { problems, warnings } = notes
  if (request.tools?.length) {
    const message = `${id} cannot search the web and call functions in one request. Leave out one of them.`
    problems.push({ param, message })
  }
  if ((request.n ?? 1) > 1) {
    problems.push({ param: 'n', message: `${id} returns one answer per call with a search.` })
  }
  for (const name of ['allowed_domains', 'blocked_domains'] as const) {
    if (search[name] === undefined) continue
    const message = 'Gemini cannot limit its search to domains. Leave them out.'
    problems.push({ param: `${param}.${name}`, message })
  }
  for (const name of ['search_context_size', 'user_location'] as const) {
    if (search[name] == null || search[name] === 'medium') continue
    warnings.push(dropped(`${param}.${name}`, search[name], 'Gemini has no such parameter.'))
  }
  if (request.tool_choice === 'required') {
    const reason = 'Gemini decides itself whether it searches.'
    warnings.push({ param: 'tool_choice', requested: 'required', applied: 'auto', reason })
  }
  return { tools: [{ googleSearch: {} }] }
}

/** The searches and sources of a candidate whose text is `text`; undefined without a search. */
function groundingIn(
  metadata: unknown,
  { text, answer }: { text: string; answer: string },
): Searched | undefined {
  const { webSearchQueries, groundingChunks, groundingSupports } = membersOf(metadata)
  const queries = itemsOf(webSearchQueries).slice(0, searchesShownMax)
  const pages = itemsOf(groundingChunks).map((chunk) => {
    const { uri: url, title } = membersOf(membersOf(chunk)['web'])
    return { url, title }
  })
  if (queries.length === 0 && pages.length === 0) return undefined
  const searches = (queries.length === 0 ? [''] : queries).map((query, place) => ({
    id: `search_${answer}_${place}`,
    query: queryIn(query),
    // Gemini does not say which query found a page.
    sources: place === 0 ? sourcesIn(pages) : [],
  }))
  const supports = itemsOf(groundingSupports)
    .slice(0, citationsShownMax)
    .map((one) => {
      const { segment, groundingChunkIndices: used } = membersOf(one)
      const { startIndex = 0, endIndex } = membersOf(segment)
      return { start: Number(startIndex), end: Number(endIndex), used: itemsOf(used) }
    })
  const places = placesIn(
    text,
    supports.flatMap(({ start, end }) => [start, end]),
  )
  const citations = supports.flatMap(({ start, end, used }) => {
    const [from, to] = [places.get(start), places.get(end)]
    if (from === undefined || to === undefined) return []
    return used.flatMap((at) => citationOf(pages[Number(at)] ?? {}, from, to) ?? [])
  })
  return { searches, citations }
}

/** The places in a text for places in its UTF-8; those outside of it are left out. */
function placesIn(text: string, bytes: readonly number[]): ReadonlyMap<number, number> {
  const encoded = Buffer.from(text)
  const places = new Map<number, number>()
  let [read, length] = [0, 0]
  for (const at of bytes.toSorted((a, b) => a - b)) {
    if (!(at >= read && at <= encoded.length)) continue
    length += encoded.toString('utf8', read, at).length
    read = at
    places.set(at, length)
  }
  return places
}

/** The members of a message for what was searched for its text. */
export function searchesIn(metadata: unknown, about: { text: string; answer: string }) {
  const grounding = groundingIn(metadata, about)
  return grounding === undefined ? {} : searchMembers(grounding)
}

/** The searches that the vendor charges: each query, or the answer. */
export function searchesCharged(metadata: readonly unknown[], { model }: Target): number {
  const found = metadata.map((one) => {
    const { webSearchQueries, groundingChunks } = membersOf(one)
    const queries = itemsOf(webSearchQueries).filter((query) => textIn(query) !== undefined).length
    return queries === 0 && itemsOf(groundingChunks).length > 0 ? 1 : queries
  })
  const queries = found.reduce((sum, count) => sum + count, 0)
  const isPerAnswer = model.prices.webSearch?.unit === 'answer'
  return isPerAnswer ? Math.min(queries, 1) : queries
}
