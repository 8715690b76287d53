import { createAudit } from '../accounts/audit.ts'
import { createEntrance } from '../accounts/entrance.ts'
import { createPasswords } from '../accounts/password.ts'
import { createPeople } from '../accounts/people.ts'
import { createSessions } from '../accounts/sessions.ts'
import { createSetUpLinks } from '../accounts/set-up-link.ts'
import type { Config } from '../config.ts'
import { createSessionCookie } from '../http/session-cookie.ts'
import { createSignInAttempts } from '../policy/sign-in-attempts.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { Events } from '../telemetry/events.ts'

type Options = {
  config: Config
  store: GuardedStore
  events: Events
  clock: () => number
  monotonic: () => number
}

/** What `assemblePeople` builds. */
export type PeopleParts = ReturnType<typeof assemblePeople>

/** Who signs in: their passwords, sessions and links. */
export function assemblePeople({ config, store, events, clock, monotonic }: Options) {
  const { limits, baseUrl } = config
  const audit = createAudit(store, clock)
  const passwords = createPasswords(limits)
  const sessions = createSessions({ store, audit, clock, limits })
  const attempts = createSignInAttempts({ entriesMax: limits.signInEntriesMax, monotonic })
  const people = createPeople({ store, audit, passwords, attempts })
  const onFailure = events.signInFailed
  const entrance = createEntrance({
    store,
    audit,
    passwords,
    people,
    sessions,
    attempts,
    onFailure,
    clock,
  })
  const setUpLinks = createSetUpLinks({ store, audit, clock, limits })
  return { entrance, people, sessions, setUpLinks, cookie: createSessionCookie(baseUrl) }
}
