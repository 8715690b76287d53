import type { Work } from '../call.ts'
import { costOf } from './cost.ts'
import type { Warning } from '../model.ts'
import { linesOf, type CostLine } from './pricing.ts'
import { isSuccessor, type Route, type Selection } from '../route.ts'
import { isPictureExact, upperCost } from './upper-cost.ts'

/** The cost of a call at one route. */
export type RouteQuote = {
  route: Route
  /** Adjustments of the request for the route. */
  warnings: readonly Warning[]
} & Price

/** `nanoUsd` is the sum of the lines times the multiplier (in units of 1/`multiplierOne`), rounded. */
type Price =
  | { kind: 'exact' | 'at_most'; nanoUsd: number; lines: readonly CostLine[]; multiplier: bigint }
  | { kind: 'unknown' }

/** The cost of a call at each route, in failover order. */
export type Quotes = { routes: readonly RouteQuote[]; warnings: readonly Warning[] }

type Quoted = Pick<
  Work<unknown, unknown>,
  'modality' | 'check' | 'ready' | 'upperUsage' | 'exactUsage'
>

/**
 * The cost of a request at `atMs` (Unix time in milliseconds) on each route that supports the request: the
 * exact cost if known in advance, else the maximum. Throws a GatewayError when no route supports the request.
 */
export function quotesOf(selection: Selection, work: Quoted, atMs: number): RouteQuote[] {
  const { check, ready } = work
  const tried = selection.routes
    .slice(0, selection.routesMax)
    .filter((route) => !isSuccessor(route))
    .filter((route) => ready === undefined || selection.admits(route, ready(route)))
  if (tried.length === 0) throw selection.refusal()
  return inOrder(tried, work).map((route, _, routes) => {
    const warnings = [...check(route).warnings, ...(ready?.(route).warnings ?? [])]
    const first = routes.find(({ model }) => model === route.model)!
    return { route, warnings, ...priceOf(route, { work, first, atMs }) }
  })
}

/** Sorts routes for pictures: all routes of a model precede those of the next model (image/run.ts). */
function inOrder(routes: readonly Route[], { modality }: Quoted): Route[] {
  if (modality !== 'image') return [...routes]
  return [...Map.groupBy(routes, ({ model }) => model).values()].flat()
}

type Pricing = { work: Quoted; first: Route; atMs: number }

function priceOf(route: Route, { work, first, atMs }: Pricing): Price {
  const { prices } = route.model
  const sure = work.exactUsage?.(route, first)
  if (sure !== undefined && isPictureExact(prices, sure.picture, atMs)) {
    const { usage, picture } = sure
    const { nanoUsd, status, pricing } = costOf(prices, usage, { atMs, picture })
    if (nanoUsd !== null && status === 'exact') {
      const lines = linesOf(usage, pricing)
      return { kind: 'exact', nanoUsd, lines, multiplier: pricing.multiplier }
    }
  }
  const upper = upperCost(prices, work.upperUsage(route), atMs)
  return upper === undefined ? { kind: 'unknown' } : { kind: 'at_most', ...upper }
}
