import { LRUCache } from 'lru-cache'
import { restMaxMs, restMs, type RouteHealth } from '../core/failover.ts'
import type { ProviderFailure } from '../core/failure.ts'
import type { Target } from '../core/model.ts'

type Circuit = {
  /** Consecutive failures. */
  failures: number
  /** Consecutive openings; each lasts twice as long as the one before. */
  openings: number
  /** 0 while it is closed. */
  openUntil: number
  /** After `openUntil` one call at a time tests whether the route has recovered. */
  probing: boolean
}
type Options = {
  limits: () => { circuitFailuresMax?: number }
  monotonic: () => number
}

/** Single failures are normal at any vendor; five in a row are an outage. */
const failuresMax = 5
/** Bounds the memory: at some endpoints callers choose the names of models. */
const circuitsMax = 10_000

type Place = Pick<Target, 'upstreamModel'> & { provider: { id: string } }

/** What a circuit is; `leftMs` is how long an open one is still left alone. */
export type CircuitView = { state: 'closed' | 'open' | 'half_open'; leftMs: number }

/** The health of all routes. */
export type Health = RouteHealth & {
  isOpen(route: Place): boolean
  /** The circuit of a route, in this process. */
  circuitOf(route: Place): CircuitView
  /** The upstream models of a provider whose circuits are not closed. */
  troubled(providerId: string): (CircuitView & { upstreamModel: string })[]
  /** Forgets what a provider was like, which is another one now. */
  forget(providerId: string): void
}

/**
 * A circuit breaker for each route. It opens after several failures in a row, at once when the
 * upstream refuses our key or rate, and closes when a call succeeds. cockatiel's would read the
 * system clock and wrap each call in promises.
 */
export function createRouteHealth({ limits, monotonic }: Options): Health {
  const circuits = new LRUCache<string, Circuit>({ max: circuitsMax })

  const open = (circuit: Circuit, { retryAfterSeconds = 0 }: ProviderFailure) => {
    const leftAloneMs = Math.max(restMs * 2 ** circuit.openings, retryAfterSeconds * 1000)
    circuit.openings++
    circuit.openUntil = monotonic() + Math.min(leftAloneMs, restMaxMs)
  }

  const viewOf = ({ openUntil, probing }: Circuit): CircuitView => {
    if (openUntil === 0) return { state: 'closed', leftMs: 0 }
    const leftMs = openUntil - monotonic()
    return probing || leftMs <= 0 ? { state: 'half_open', leftMs: 0 } : { state: 'open', leftMs }
  }

  return {
    circuitOf: (route) => {
      // A look from outside makes no circuit a recently used one.
      const circuit = circuits.peek(nameOf(route))
      return circuit === undefined ? { state: 'closed', leftMs: 0 } : viewOf(circuit)
    },
    troubled: (providerId) => {
      const prefix = `${providerId}/`
      return [...circuits.entries()].flatMap(([name, circuit]) => {
        const view = viewOf(circuit)
        if (!name.startsWith(prefix) || view.state === 'closed') return []
        return [{ ...view, upstreamModel: name.slice(prefix.length) }]
      })
    },
    isOpen: (route) => {
      const circuit = circuits.size === 0 ? undefined : circuits.get(nameOf(route))
      if (circuit === undefined || circuit.openUntil === 0) return false
      return circuit.probing || monotonic() < circuit.openUntil
    },
    began: (route) => {
      const circuit = circuits.size === 0 ? undefined : circuits.get(nameOf(route))
      if (circuit !== undefined && circuit.openUntil > 0 && monotonic() >= circuit.openUntil) {
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
      if (failure === undefined || failure.isCallersFault) {
        circuits.delete(name)
        return
      }
      const failing = circuit ?? { failures: 0, openings: 0, openUntil: 0, probing: false }
      failing.failures++
      const wasOpen = failing.openUntil > 0
      failing.probing = false
      const { circuitFailuresMax = failuresMax } = limits()
      if (wasOpen || failure.concernsKey || failing.failures >= circuitFailuresMax) {
        open(failing, failure)
      }
      circuits.set(name, failing)
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
