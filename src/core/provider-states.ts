import type { components } from '../../generated/types.ts'
import type { Caller } from './caller.ts'

type StateName = components['schemas']['SandboxStateName']

/** What is played for a key whose calls are refused as those of a key with a spent budget. */
export const spentBudget = 'spent-budget'

/** Whether calls cost money, or are refused as if they did. */
export function isCharged({ mode, played }: Caller): boolean {
  return mode === 'live' || played === spentBudget
}

/** A new test key of a provider state; its secret is in the answer alone. */
export type StateKey = {
  id: string
  key: string
  /** Unix time in milliseconds. */
  expiresAt: number
  /** Undefined if the state is that of a key which cannot be used. */
  caller: Caller | undefined
}

/** Test keys for the provider states of contract tests (docs/provider-states.md). */
export type ProviderStates = {
  /** Creates the key of a state. Throws `rate_limit_exceeded` for too many at once. */
  setUp(caller: Caller, state: StateName): Promise<StateKey>
  /** Ends a key of a state of the account; does nothing for any other. */
  tearDown(
    caller: Caller,
    named: { id?: string | undefined; key?: string | undefined },
  ): Promise<void>
  /**
   * What the sandbox plays for the next call of a key. A state of so many calls ends with them; a call that is refused
   * before the vendor is none of them.
   */
  playedFor(caller: Caller): Promise<string>
}
