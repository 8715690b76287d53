import { ProviderFailure, type FailureKind } from './failure.ts'
import type { Route } from './route.ts'

/** One try of one route, as the ledger and the answer's header tell it. */
export type Attempt = {
  provider: string
  upstreamModel: string
  outcome: 'ok' | FailureKind
  status?: number
  durationMs: number
}

type Options<T> = {
  routes: readonly Route[]
  attempt: (route: Route) => Promise<T>
  /** Each try is added here, also when all of them fail. */
  attempts: Attempt[]
  signal: AbortSignal
  clock: () => number
  report: (route: Route, attempt: Attempt) => void
}

/**
 * Tries the routes in order until one answers. Throws the last ProviderFailure when none did, or at
 * once what another route would refuse as well.
 */
export async function failover<T>(options: Options<T>): Promise<{ value: T; route: Route }> {
  const { routes, attempt, attempts, signal, clock, report } = options
  let last: ProviderFailure | undefined
  for (const route of routes) {
    const startedAt = clock()
    const finish = (outcome: Attempt['outcome'], status?: number) => {
      const { provider, upstreamModel } = route
      const durationMs = clock() - startedAt
      const made = { provider: provider.id, upstreamModel, outcome, durationMs }
      attempts.push(status === undefined ? made : { ...made, status })
      report(route, attempts.at(-1)!)
    }
    try {
      const value = await attempt(route)
      finish('ok')
      return { value, route }
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
      finish(error.kind, error.status)
      last = error
      if (!error.mayTryNext || signal.aborted) break
    }
  }
  throw last ?? new Error('There was no route to try.')
}
