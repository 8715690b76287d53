import type { components } from '../../../generated/types.ts'
import { prune } from '../prune.ts'
import { searchesMax } from '../money/upper-cost.ts'
import type { ChatRequest } from './chat.ts'

type Schemas = components['schemas']
/** A request that may let the vendor search the web. */
export type SearchRequest = Pick<ChatRequest, 'web_search_options'>

/** The most searches of the web that a request allows. */
export function searchDemand({ web_search_options: search }: SearchRequest): number {
  return Math.min(search?.max_searches ?? searchesMax, searchesMax)
}

/** The place of the user in the canonical form, for an API that has its members side by side. */
export function userLocation(
  place: Schemas['WebSearchPlace'] | null | undefined,
): Pick<Schemas['WebSearchOptions'], 'user_location'> {
  if (place == null) return {}
  const { city, country, region, timezone } = place
  const approximate = prune({ city, country, region, timezone })
  return { user_location: { type: 'approximate', approximate } }
}
