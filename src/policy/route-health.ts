import { LRUCache } from 'lru-cache'
import type { RouteHealth } from '../core/failover.ts'
import type { ProviderFailure } from '../core/failure.ts'
import type { Route } from '../core/route.ts'

type Circuit = {
  /** Failures in a row. */
  failures: number
  /** How often in a row it was opened. */
  openings: number
  /** 0 while it is closed. */
  openUntil: number
  /** Behind `openUntil` one call at a time finds out whether the route is well again. */
  probing: boolean
}
type Options = {
  limits: {
    circuitFailuresMax: number
    circuitOpenMs: number
    circuitOpenMaxMs: number
    /** Callers choose the names of models at some endpoints: what is kept of them is bounded. */
    circuitsMax: number
  }
  clock: () => number
}

/**
 * A circuit breaker a route. A route that failed several times in a row, or that has refused our key or
 * rate, is not worth a try for a while, twice as long each time; then one call probes it.
 * Our own instead of cockatiel's, which reads the clock by itself and wraps each call in promises.
 */
export function createRouteHealth({
  limits,
  clock,
}: Options): RouteHealth & { isOpen(route: Route): boolean } {
  const circuits = new LRUCache<string, Circuit>({ max: limits.circuitsMax })

  const open = (circuit: Circuit, { retryAfterSeconds = 0 }: ProviderFailure) => {
    const { circuitOpenMs, circuitOpenMaxMs } = limits
    const restMs = Math.max(circuitOpenMs * 2 ** circuit.openings, retryAfterSeconds * 1000)
    circuit.openings++
    circuit.openUntil = clock() + Math.min(restMs, circuitOpenMaxMs)
  }

  return {
    isOpen: (route) => {
      const circuit = circuits.size === 0 ? undefined : circuits.get(nameOf(route))
      if (circuit === undefined || circuit.openUntil === 0) return false
      return circuit.probing || clock() < circuit.openUntil
    },
    began: (route) => {
      const circuit = circuits.size === 0 ? undefined : circuits.get(nameOf(route))
      if (circuit !== undefined && circuit.openUntil > 0 && clock() >= circuit.openUntil) {
        circuit.probing = true
      }
    },
    ended: (route, failure) => {
      if (failure === undefined && circuits.size === 0) return
      if (route.provider.simulated) return
      const name = nameOf(route)
      const circuit = circuits.get(name)
      if (failure?.kind === 'cancelled') {
        if (circuit !== undefined) circuit.probing = false
        return
      }
      if (failure === undefined || !failure.mayTryNext) {
        circuits.delete(name)
        return
      }
      const failing = circuit ?? { failures: 0, openings: 0, openUntil: 0, probing: false }
      failing.failures++
      const wasOpen = failing.openUntil > 0
      failing.probing = false
      if (wasOpen || failure.concernsKey || failing.failures >= limits.circuitFailuresMax) {
        open(failing, failure)
      }
      circuits.set(name, failing)
    },
  }
}

function nameOf({ provider, upstreamModel }: Route): string {
  return `${provider.id}/${upstreamModel}`
}
