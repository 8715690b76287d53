import type { components } from '../../../generated/types.ts'
import type { SearchRequest } from '../../core/chat/web-search.ts'
import { dropped, type Target } from '../../core/model.ts'
import { noUsage, type Usage } from '../../core/money/price.ts'
import type { Notes } from './fields.ts'
import { countIn } from './token-count.ts'

type Schemas = components['schemas']
type SearchOptions = Schemas['WebSearchOptions']
export type WebSearch = Schemas['WebSearch']
export type WebCitation = Schemas['WebCitation']

/** What only vendors do that the gateway asks itself, in their own words. */
const ownMembers = [
  'allowed_domains',
  'blocked_domains',
  'external_web_access',
  'max_searches',
] as const

/**
 * Whether a search must be made by the vendor as the gateway writes it: the options of OpenAI's chat are not
 * enough, or the price of the model includes it.
 */
export function needsSearch(
  { web_search_options: search }: SearchRequest,
  { model }: Target,
): boolean {
  if (search == null) return false
  return model.prices.webSearch !== undefined || ownMembers.some((name) => name in search)
}

/** The options of a search of the live web; undefined without one. Refuses it if the model has no price. */
export function liveSearchOf(
  request: SearchRequest,
  target: Target,
  notes: Notes,
): SearchOptions | undefined {
  const search = searchOf(request, target, notes)
  if (search?.external_web_access !== false) return search
  refuseSearch(request, target, notes)
  return undefined
}

/** The options of a search that the vendor makes; undefined without one. Refuses it if the model has no price. */
export function searchOf(
  request: SearchRequest,
  target: Target,
  notes: Notes,
): SearchOptions | undefined {
  const { web_search_options: search } = request
  if (search == null) return undefined
  if (target.model.prices.webSearch !== undefined) return search
  refuseSearch(request, target, notes)
  return undefined
}

/** Refuses a search that the route cannot make, or warns if the caller can do without it. */
export function refuseSearch(
  request: SearchRequest,
  target: Target,
  { problems, warnings }: Notes,
): void {
  const { web_search_options: search } = request
  const { model, provider } = target
  if (search?.external_web_access === false) {
    const reason = `${provider.id} has no search without access to the web.`
    warnings.push(dropped('web_search_options.external_web_access', false, reason))
  } else if (needsSearch(request, target)) {
    const message = `${model.row.id} does not search the web at ${provider.id}. Leave the search out, or choose a model that has the price \`web_search\` in GET /v1/models.`
    problems.push({ param: 'web_search_options', message })
  } else {
    const reason = `${model.row.id} does not search the web.`
    warnings.push(dropped('web_search_options', search, reason))
  }
}

/** The place of the user as OpenAI and Anthropic take it; warns of another form. */
export function locationOf(
  { user_location: user }: SearchOptions,
  { warnings }: Notes,
): { user_location?: { type: 'approximate' } & Schemas['WebSearchPlace'] } {
  if (user == null) return {}
  if (user.approximate === undefined) {
    const reason = 'The place is in `approximate`: city, region, country and timezone.'
    warnings.push(dropped('web_search_options.user_location', user, reason))
    return {}
  }
  return { user_location: { type: 'approximate', ...user.approximate } }
}

/** Bounds on what a vendor says about its searches; what is beyond them is left out. */
export const searchesShownMax = 100
export const citationsShownMax = 1000
const sourcesMax = 100
const addressLengthMax = 2048
const titleLengthMax = 300
const queryLengthMax = 1000

type CitedPage = { url?: unknown; title?: unknown }

/** A source for callers, who may show it as a link; undefined for anything but an address of the web. */
function sourceIn({ url, title }: CitedPage): WebSearch['sources'][number] | undefined {
  if (typeof url !== 'string' || url.length > addressLengthMax) return undefined
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return undefined
  return { url, title: typeof title === 'string' ? title.slice(0, titleLengthMax) : '' }
}

/** The sources in a list of a vendor. */
export function sourcesIn(list: readonly CitedPage[]): WebSearch['sources'] {
  return list.slice(0, sourcesMax).flatMap((one) => sourceIn(one) ?? [])
}

/** The query of a search, in bounds. */
export function queryIn(query: unknown): string {
  return typeof query === 'string' ? query.slice(0, queryLengthMax) : ''
}

/** A citation of the text from `start` to before `end`; undefined without an address of the web. */
export function citationOf(page: CitedPage, start: number, end: number): WebCitation | undefined {
  const source = sourceIn(page)
  if (source === undefined || !(start >= 0) || !(end >= start)) return undefined
  const { url, title } = source
  return { type: 'url_citation', url_citation: { start_index: start, end_index: end, url, title } }
}

/** More searches than any vendor makes for one answer. */
const searchesCountedMax = 1000

/** A usage with the searches that the vendor counts. A count that cannot be is an estimate. */
export function withSearches(usage: Usage, count: unknown): Usage {
  if (count === undefined || count === null || count === 0) return usage
  const webSearches = Math.min(countIn(count) ?? 0, searchesCountedMax)
  const estimated = usage.estimated || webSearches !== count
  return webSearches === 0 ? { ...usage, estimated } : { ...usage, estimated, webSearches }
}

/** A usage with the searches of a stream's events, unless the vendor has counted them. */
export function withCounted(usage: Usage | undefined, searches: number): Usage | undefined {
  if (searches === 0 || usage?.webSearches) return usage
  return withSearches(usage ?? noUsage, searches)
}

/** The searches of an answer and the sources of its text. */
export type Searched = { searches: WebSearch[]; citations: WebCitation[] }

/** The members of a message for the searches of a whole answer. */
export function searchMembers({ searches, citations }: Searched) {
  return {
    ...(citations.length === 0 ? {} : { annotations: citations.slice(0, citationsShownMax) }),
    ...(searches.length === 0 ? {} : { web_searches: searches.slice(0, searchesShownMax) }),
  }
}
