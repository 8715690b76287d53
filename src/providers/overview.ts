import type { components } from '../../generated/types.ts'
import {
  isFailure,
  measuresOf,
  type RecentAttempts,
  type TimedAttempt,
} from '../core/attempt-measures.ts'
import type { EndpointConfig } from './create-providers.ts'
import { vendorOf, vendors } from './index.ts'

type Schemas = components['schemas']
type Provider = Schemas['ProviderReport']
type Configured = Pick<EndpointConfig, 'id' | 'baseUrl' | 'models'>
type Troubled = { upstreamModel: string; state: Schemas['CircuitState']; leftMs: number }

type Options = {
  endpoints: readonly Configured[]
  keySources: Readonly<Record<string, Schemas['ProviderKeySource']>>
  /** The stored keys of all providers. */
  keys: readonly Schemas['ProviderKey'][]
  /** The number of catalog models with a route through the provider. */
  models: (providerId: string) => number
  troubled: (providerId: string) => readonly Troubled[]
  recent: RecentAttempts | undefined
  nowMs: number
}

/** All vendors and the operator's endpoints; the configured providers come first. */
export function describeProviders(options: Options): Schemas['ProviderList'] {
  const { endpoints, keySources, recent } = options
  const ids = new Set(endpoints.map(({ id }) => id))
  const others = vendors.filter(({ id }) => !ids.has(id))
  const attempts = Map.groupBy(recent?.attempts ?? [], ({ provider }) => provider)
  const describe = (id: string, configured?: Configured): Provider => {
    return {
      id,
      object: 'provider',
      ...settingsOf(id, configured),
      key_source: keySources[id] ?? null,
      keys: options.keys.filter(({ provider }) => provider === id),
      models: options.models(id),
      ...observed(attempts.get(id) ?? []),
      circuits: options.troubled(id).map(({ upstreamModel, state, leftMs }) => ({
        upstream_model: upstreamModel,
        circuit: state,
        until: state === 'open' ? timeText(options.nowMs + leftMs) : null,
      })),
    }
  }
  const data = [
    ...endpoints.map((one) => describe(one.id, one)),
    ...others.map(({ id }) => describe(id)),
  ]
  return { object: 'list', measured: recent?.measured ?? null, data }
}

type Settings =
  | 'name'
  | 'is_configured'
  | 'setting'
  | 'other_settings'
  | 'base_url'
  | 'base_url_setting'
  | 'takes_any_model'

/** The settings of a provider, without secret values. */
function settingsOf(id: string, configured: Configured | undefined): Pick<Provider, Settings> {
  const vendor = vendorOf(id)
  const [setting = 'providers', ...others] = vendor?.keyVariables ?? []
  const isOwnAddress = configured === undefined || configured.baseUrl === vendor?.baseUrl
  return {
    name: vendor?.name ?? id,
    is_configured: configured !== undefined,
    setting,
    other_settings: others,
    base_url: isOwnAddress ? null : configured.baseUrl,
    base_url_setting: vendor?.baseUrlVariable ?? null,
    takes_any_model:
      configured === undefined ? vendor?.anyModel === true : configured.models === '*',
  }
}

type Observed = 'health' | 'failures' | 'last_success_at' | 'last_failure' | 'failing_since'

function observed(attempts: readonly TimedAttempt[]): Pick<Provider, Observed> {
  const failed = attempts.filter(isFailure)
  const causes = Map.groupBy(failed, ({ outcome }) => outcome)
  const success = latest(attempts.filter(({ outcome }) => outcome === 'ok'))
  const failure = latest(failed)
  const times = failed.map(({ at }) => at).filter((at) => at > (success?.at ?? 0))
  return {
    health: measuresOf(attempts),
    failures: [...causes]
      .map(([cause, of]) => ({ cause, attempts: of.length }))
      .toSorted((a, b) => b.attempts - a.attempts),
    last_success_at: success === undefined ? null : timeText(success.at),
    last_failure:
      failure === undefined
        ? null
        : {
            at: timeText(failure.at),
            cause: failure.outcome,
            status: failure.status ?? null,
            upstream_model: failure.upstreamModel,
          },
    failing_since: times.length === 0 ? null : timeText(Math.min(...times)),
  }
}

function latest(attempts: readonly TimedAttempt[]): TimedAttempt | undefined {
  return attempts.toSorted((a, b) => b.at - a.at)[0]
}

function timeText(ms: number): string {
  return new Date(ms).toISOString()
}
