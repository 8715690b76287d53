import type { Schemas } from '../../data/api.ts'
import { percentText } from '../../elements/health.tsx'
import { Time } from '../../elements/time.tsx'

export type Provider = Schemas['ProviderReport']

/** States of a provider, the ones that need attention first. */
export const states = {
  refuses: 'refuses the key',
  fails: 'fails',
  works: 'works',
  unused: 'not called lately',
  keyless: 'no key',
} as const
export type State = keyof typeof states

/** Share of failed attempts above which a provider that works is shown with a warning. */
const warnAbove = 0.02

/** What a provider's configuration and last hour say about it. */
export function stateOf({ is_configured: isConfigured, ...provider }: Provider): State {
  const { failing_since: since, last_failure: failure, last_success_at: success } = provider
  if (!isConfigured) return 'keyless'
  if (since !== null) return failure?.cause === 'credentials' ? 'refuses' : 'fails'
  return success === null ? 'unused' : 'works'
}

/** The state as a word with a colour. */
export function StateMark({ provider }: { provider: Provider }) {
  const { circuits, health } = provider
  const state = stateOf(provider)
  const rate = health.error_rate ?? 0
  if (state === 'refuses' || state === 'fails')
    return <span class="state wrong">{states[state]}</span>
  if (state !== 'works') return <span class="state">{states[state]}</span>
  if (rate <= warnAbove && circuits.length === 0) return <span class="state good">works</span>
  return <span class="state warn">works, {percentText(rate)} failed</span>
}

/** Since when the provider is in its state, and why. */
export function Since({ provider }: { provider: Provider }) {
  const { failing_since: since, last_failure: failure, last_success_at: success } = provider
  if (since !== null && failure !== null) {
    return (
      <>
        since <Time at={since} />
        {failure.cause !== 'credentials' && `: ${causeText(failure.cause)}`}
      </>
    )
  }
  if (success === null) return <>{modelsText(provider)}</>
  return (
    <>
      last success <Time at={success} />
    </>
  )
}

/** The number of its models. */
export function modelsText({ takes_any_model: takesAny, models }: Provider): string {
  if (takesAny) return 'any of its models'
  return models === 1 ? '1 model' : `${models} models`
}

const causes: Readonly<Record<string, string>> = {
  unreachable: 'unreachable',
  timeout: 'timed out',
  overloaded: 'overloaded',
  rate_limited: 'rate limit reached',
  out_of_credit: 'no credit left at the provider',
  credentials: 'API key rejected',
  not_found: 'model not found',
  malformed: 'invalid response',
}

/** Text for the cause of a failed attempt. */
export function causeText(cause: string): string {
  return causes[cause] ?? cause.replaceAll('_', ' ')
}
