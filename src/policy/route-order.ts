import type { Target } from '../core/model.ts'
import { LRUCache } from 'lru-cache'
import { createCircuit, type Circuit, type CircuitView } from '../core/resilience/circuit.ts'
import { restMaxMs, restMs, type RouteHealth } from '../core/resilience/failover.ts'

type OrderOptions = {
  by: 'listed' | 'price'
  isOpen: (route: Target) => boolean
  /** The price of a route in any unit, the same for all routes; undefined when unknown. */
  priceOf: (route: Target) => bigint | undefined
}

/**
 * Sorts routes into the order of attempts: closed circuits first, then the models in the caller's order, then
 * routes of a model as listed or the cheapest first. Routes with an open circuit come last but stay, so that
 * a call is tried even if all circuits are open.
 */
export function createRouteOrder({
  by,
  isOpen,
  priceOf,
}: OrderOptions): <One extends Target>(routes: readonly One[]) => readonly One[] {
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

type HealthOptions = {
  limits: () => { circuitFailuresMax: number }
  monotonic: () => number
}

/** Limits memory: with some providers, clients choose the model names. */
const circuitsMax = 10_000

type Place = Pick<Target, 'upstreamModel'> & { provider: { id: string } }

/** The health of all routes. */
export type Health = RouteHealth & {
  isOpen(route: Place): boolean
  circuitOf(route: Place): CircuitView
  /** The upstream models of a provider whose circuits are not closed. */
  troubled(providerId: string): (CircuitView & { upstreamModel: string })[]
  /** Forgets the circuits of a provider whose settings changed. */
  forget(providerId: string): void
}

/**
 * A circuit breaker for each route that fails. It opens after several failures in a row, and at once if the
 * provider rejects the API key or the rate; a successful call closes it.
 */
export function createRouteHealth({ limits, monotonic }: HealthOptions): Health {
  const circuits = new LRUCache<string, Circuit>({ max: circuitsMax })
  const closed = () =>
    createCircuit({
      failuresMax: () => limits().circuitFailuresMax,
      pauseMs: restMs,
      pauseMaxMs: restMaxMs,
      monotonic,
    })
  const find = (route: Place): Circuit | undefined =>
    circuits.size === 0 ? undefined : circuits.get(nameOf(route))

  return {
    // `peek` does not mark the circuit as recently used.
    circuitOf: (route) => circuits.peek(nameOf(route))?.view() ?? { state: 'closed', leftMs: 0 },
    troubled: (providerId) => {
      const prefix = `${providerId}/`
      return [...circuits.entries()].flatMap(([name, circuit]) => {
        const view = circuit.view()
        if (!name.startsWith(prefix) || view.state === 'closed') return []
        return [{ ...view, upstreamModel: name.slice(prefix.length) }]
      })
    },
    isOpen: (route) => find(route)?.isOpen() === true,
    began: (route) => find(route)?.began(),
    ended: (route, failure) => {
      if (failure === undefined && circuits.size === 0) return
      if (route.provider.simulated) return
      const name = nameOf(route)
      const circuit = circuits.get(name)
      if (failure?.kind === 'cancelled') {
        circuit?.cancelled()
      } else if (failure === undefined || failure.isCallersFault) {
        circuits.delete(name)
      } else {
        const failing = circuit ?? closed()
        const { concernsKey: opens, retryAfterSeconds = 0 } = failure
        failing.failed({ opens, retryAfterMs: retryAfterSeconds * 1000 })
        circuits.set(name, failing)
      }
    },
    forget: (providerId) => {
      for (const name of circuits.keys()) {
        if (name.startsWith(`${providerId}/`)) circuits.delete(name)
      }
    },
  }
}

function nameOf({ provider, upstreamModel }: Place): string {
  return `${provider.id}/${upstreamModel}`
}
