import type { components } from '../../../generated/types.ts'
import type { CallContext } from '../../core/caller.ts'
import { isProvidersFault } from '../../core/failure.ts'
import { dayMs, hourMs } from '../usage/range.ts'
import type { Crossing } from './crossings.ts'

type Attempt = { provider: string; outcome: 'ok' | components['schemas']['FailureKind'] }
type Failures = {
  accountId: string
  provider: string
  since: number
  attempts: number
  failed: number
  keyRefusal?: Attempt['outcome']
  kinds: Map<string, number>
}

/** Attempts are counted for so long after the first failure; the circuit of a route opens after five. */
const windowMs = 300_000
const failedMin = 5
const failedShareMin = 0.5
/** Accounts and providers whose attempts are counted at a time. */
const countedMax = 1000

/** Counts the attempts of accounts with alerts at providers that fail, in the memory of this process. */
export function createProviderFailures(clock: () => number) {
  const counts = new Map<string, Failures>()
  const isOld = ({ since }: Failures): boolean => since <= clock() - windowMs
  let watched: { has(accountId: string): boolean } = new Set<string>()
  return {
    /** Sets the accounts whose attempts are counted. */
    watch: (accountIds: typeof watched) => void (watched = accountIds),
    count: ({ provider, outcome }: Attempt, { caller }: Pick<CallContext, 'caller'>): void => {
      const { accountId, mode } = caller
      if (mode !== 'live' || !watched.has(accountId)) return
      const name = `${accountId} ${provider}`
      let found = counts.get(name)
      const isFailure = outcome !== 'ok' && isProvidersFault(outcome)
      if (found === undefined || isOld(found)) {
        if (!isFailure || counts.size >= countedMax) return
        const none = { attempts: 0, failed: 0, kinds: new Map<string, number>() }
        found = { accountId, provider, since: clock(), ...none }
        counts.set(name, found)
      }
      found.attempts++
      if (!isFailure) return
      found.failed++
      found.kinds.set(outcome, (found.kinds.get(outcome) ?? 0) + 1)
      if (outcome === 'credentials' || outcome === 'out_of_credit') found.keyRefusal = outcome
    },
    /** The providers that fail or refuse their key now. */
    crossings: (): Crossing[] => {
      for (const [name, one] of counts) if (isOld(one)) counts.delete(name)
      return [...counts.values()].flatMap(crossingsOf)
    },
  }
}

export type ProviderFailures = ReturnType<typeof createProviderFailures>

function crossingsOf(failures: Failures): Crossing[] {
  const { accountId, provider, since, attempts, failed, keyRefusal, kinds } = failures
  const about = { accountId, subject: provider, page: `/requests?provider=${provider}` }
  const crossings: Crossing[] = []
  if (keyRefusal !== undefined) {
    const reason =
      keyRefusal === 'credentials' ? 'The key is not valid' : 'Its account has no credit'
    const text = `The provider '${provider}' refused the gateway's key. ${reason}. An operator can replace the key or add credit.`
    const startsAt = since - (since % dayMs)
    const endsAt = startsAt + dayMs
    crossings.push({ ...about, type: 'alert.provider_key_refused', startsAt, endsAt, text })
  }
  if (failed >= failedMin && failed >= attempts * failedShareMin) {
    const [[kind] = ['']] = [...kinds].toSorted(([, one], [, other]) => other - one)
    const text = `The provider '${provider}' fails: ${failed} of ${attempts} attempts since ${new Date(since).toISOString().slice(11, 16)} UTC, most of them with ${kind}.`
    const startsAt = since - (since % hourMs)
    const endsAt = startsAt + hourMs
    crossings.push({ ...about, type: 'alert.provider_failing', startsAt, endsAt, text })
  }
  return crossings
}
