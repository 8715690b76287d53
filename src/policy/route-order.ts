import type { Target } from '../core/model.ts'

type Options = {
  by: 'listed' | 'price'
  isOpen: (route: Target) => boolean
  /** The price of a route in any unit, the same for all routes; undefined when unknown. */
  priceOf: (route: Target) => bigint | undefined
}

/**
 * Sorts routes into the order of attempts: closed circuits first, within them the models in the
 * caller's order, within a model as listed or the cheapest first. Routes with an open circuit come
 * last but stay, since a try is better than none.
 */
export function createRouteOrder({
  by,
  isOpen,
  priceOf,
}: Options): <One extends Target>(routes: One[]) => One[] {
  const cheaperFirst = (a: Target, b: Target): number => {
    if (by === 'listed' || a.model !== b.model) return 0
    const [first, second] = [priceOf(a), priceOf(b)]
    if (first === second) return 0
    if (first === undefined) return 1
    return second === undefined || first < second ? -1 : 1
  }
  return (routes) => {
    if (routes.length < 2) return routes
    const rank = new Map(routes.map((route) => [route, isOpen(route) ? 1 : 0]))
    return byModel(routes)
      .flatMap((group) => group.toSorted(cheaperFirst))
      .toSorted((a, b) => rank.get(a)! - rank.get(b)!)
  }
}

/** Adjacent routes of one model. `cheaperFirst` is not transitive across models. */
function byModel<One extends Target>(routes: readonly One[]): One[][] {
  const groups: One[][] = []
  for (const route of routes) {
    const last = groups.at(-1)
    if (last?.[0]?.model === route.model) last.push(route)
    else groups.push([route])
  }
  return groups
}
