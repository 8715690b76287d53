import type { Work } from '../call.ts'
import { costOf } from './cost.ts'
import type { Warning } from '../model.ts'
import { linesOf, type CostLine } from './pricing.ts'
import type { Route, Selection } from '../route.ts'
import { isPictureSure, upperCost } from './upper-cost.ts'

/** What a call would cost where a route answers it. */
export type RouteQuote = {
  route: Route
  /** What would be adjusted for the route. */
  warnings: readonly Warning[]
} & Price

/** What is rounded to `nanoUsd` is the sum of the lines times the multiplier, in parts of `onefold`. */
type Price =
  | { kind: 'exact' | 'at_most'; nanoUsd: number; lines: readonly CostLine[]; multiplier: bigint }
  | { kind: 'unknown' }

/** What a call would cost; the routes are in the order in which they would be tried. */
export type Quotes = { routes: readonly RouteQuote[]; warnings: readonly Warning[] }

type Quoted = Pick<
  Work<unknown, unknown>,
  'modality' | 'check' | 'ready' | 'upperUsage' | 'sureUsage'
>

/**
 * What the work would cost at a Unix time in milliseconds on each of the routes that can do it: what
 * the call will be charged, where that is known beforehand, else the most that it may be. Throws a
 * GatewayError when no route can do it.
 */
export function quotesOf(selection: Selection, work: Quoted, atMs: number): RouteQuote[] {
  const { check, ready } = work
  const tried = selection.routes
    .slice(0, selection.routesMax)
    .filter((route) => ready === undefined || selection.admits(route, ready(route)))
  if (tried.length === 0) throw selection.refusal()
  return inOrder(tried, work).map((route, _, routes) => {
    const warnings = [...check(route).warnings, ...(ready?.(route).warnings ?? [])]
    const first = routes.find(({ model }) => model === route.model)!
    return { route, warnings, ...priceOf(route, { work, first, atMs }) }
  })
}

/** Pictures are made by the routes of one model before those of the next (image/run.ts). */
function inOrder(routes: readonly Route[], { modality }: Quoted): Route[] {
  if (modality === 'chat') return [...routes]
  return [...Map.groupBy(routes, ({ model }) => model).values()].flat()
}

type Pricing = { work: Quoted; first: Route; atMs: number }

function priceOf(route: Route, { work, first, atMs }: Pricing): Price {
  const { prices } = route.model
  const sure = work.sureUsage?.(route, first)
  if (sure !== undefined && isPictureSure(prices, sure.picture, atMs)) {
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
