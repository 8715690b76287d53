import { createAudit } from '../accounts/audit.ts'
import { createEntrance } from '../accounts/entrance.ts'
import { createInvitations } from '../accounts/invitations.ts'
import { createMembers } from '../accounts/members.ts'
import { createNewcomers } from '../accounts/newcomers.ts'
import { createPasswordLinks } from '../accounts/password-links.ts'
import { createPasswords } from '../accounts/password.ts'
import { createPeople } from '../accounts/people.ts'
import { createSessionKeys } from '../accounts/session-keys.ts'
import { createSessions } from '../accounts/sessions.ts'
import { createSetUpLinks } from '../accounts/set-up-link.ts'
import { siteAddress, type Config } from '../config.ts'
import { createSessionCookie } from '../http/session-cookie.ts'
import type { Announce } from '../peers/announcement.ts'
import type { PrimaryLine } from '../peers/primary-line.ts'
import { createClientAttempts } from '../policy/client-attempts.ts'
import { createSignInAttempts } from '../policy/sign-in-attempts.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { Events } from '../telemetry/events.ts'
import { assembleAttempts } from './attempts.ts'
import type { Peers } from './peers.ts'

type Options = {
  config: Config
  store: GuardedStore
  events: Events
  announce: Announce
  /** Where this gateway is several processes. */
  peers: Pick<Peers, 'redis'>
  worker: { primary: PrimaryLine } | undefined
  monotonic: () => number
  clock: () => number
}

/** What `assemblePeople` builds. */
export type PeopleParts = ReturnType<typeof assemblePeople>

/** Who signs in: their passwords, sessions and links. */
export function assemblePeople(options: Options) {
  const { config, store, events, announce, clock } = options
  const { limits, signUp } = config
  const audit = createAudit(store, clock)
  const passwords = createPasswords(limits)
  const sessions = createSessions({ store, audit, announce, clock, limits })
  const counted = assembleAttempts({
    ...options,
    redis: options.peers.redis,
    primary: options.worker?.primary,
  })
  const attempts = createSignInAttempts(counted)
  const people = createPeople({ store, audit, announce, passwords, attempts, clock })
  const letIn = {
    store,
    audit,
    announce,
    passwords,
    people,
    sessions,
    attempts,
    onFailure: events.signInFailed,
    clock,
  }
  const baseUrl = siteAddress(config)
  return {
    entrance: createEntrance(letIn),
    newcomers: createNewcomers({ ...letIn, signUp }),
    signUp,
    people,
    sessions,
    sessionKeys: createSessionKeys({ store, audit, announce, clock, limits }),
    setUpLinks: createSetUpLinks({ store, audit, clock, limits }),
    members: createMembers({ store, audit, announce, clock }),
    passwordLinks: createPasswordLinks({ store, audit, clock, baseUrl, limits }),
    invitations: createInvitations({ store, audit, clock, baseUrl, limits }),
    attempts,
    clientAttempts: createClientAttempts(counted),
    cookie: createSessionCookie(config.baseUrl),
  }
}
