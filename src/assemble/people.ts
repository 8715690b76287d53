import { createEntrance } from '../accounts/entrance.ts'
import { createInvitations } from '../accounts/invitations.ts'
import { createMembers } from '../accounts/members.ts'
import { createNewcomers } from '../accounts/newcomers.ts'
import { createPasswordLinks } from '../accounts/password-links.ts'
import { createPasswords } from '../accounts/password.ts'
import { createPeople } from '../accounts/people.ts'
import { createSessionKeys } from '../accounts/session-keys.ts'
import { createSessions } from '../accounts/sessions.ts'
import { createSetUpLinks, type SetUpLinks } from '../accounts/set-up-link.ts'
import type { EntranceParts } from '../api/entrance.ts'
import type { PeopleParts } from '../api/people.ts'
import type { SessionParts } from '../api/sessions.ts'
import { siteAddress } from '../settings/config.ts'
import { createSessionCookie } from '../http/session-cookie.ts'
import { createAttempts, type Attempts } from '../policy/attempts.ts'
import { createClientAttempts, type ClientAttempts } from '../policy/client-attempts.ts'
import { createFarAttempts } from '../policy/far-attempts.ts'
import { createSignInAttempts, type SignInAttempts } from '../policy/sign-in-attempts.ts'
import type { Environment, StoreParts } from './store.ts'

/** How people sign in: their passwords, sessions and links. */
export type People = EntranceParts &
  SessionParts &
  Omit<PeopleParts, 'keys'> & {
    setUpLinks: SetUpLinks
    attempts: SignInAttempts
    clientAttempts: ClientAttempts
  }

export function assemblePeople(
  environment: Environment,
  { store, audit, announce }: StoreParts,
): People {
  const { config, events, clock } = environment
  const { limits, signUp } = config
  const baseUrl = siteAddress(config)
  const stored = { store, audit, announce, clock }
  const passwords = createPasswords(limits)
  const sessions = createSessions({ ...stored, limits })
  const counted = attemptsOf(environment)
  const attempts = createSignInAttempts(counted)
  const people = createPeople({ ...stored, passwords, attempts })
  const letIn = { ...stored, passwords, people, sessions, attempts, onFailure: events.signInFailed }
  return {
    entrance: createEntrance(letIn),
    newcomers: createNewcomers({ ...letIn, signUp }),
    signUp,
    people,
    sessions,
    sessionKeys: createSessionKeys({ ...stored, limits }),
    setUpLinks: createSetUpLinks(stored),
    members: createMembers(stored),
    passwordLinks: createPasswordLinks({ ...stored, baseUrl }),
    invitations: createInvitations({ ...stored, baseUrl, limits }),
    attempts,
    clientAttempts: createClientAttempts(counted),
    cookie: createSessionCookie(config.baseUrl),
  }
}

/** Counts attempts to sign in: in Redis, else in memory. */
function attemptsOf({ config: { limits }, peers: { redis }, monotonic }: Environment): Attempts {
  const near = createAttempts({ monotonic })
  if (redis === undefined) return near
  return createFarAttempts({ redis, timeoutMs: () => limits.limitsTimeoutMs, near })
}
