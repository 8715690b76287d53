import { createOidcSignIns, createPasswordGate } from '../accounts/oidc-sign-in.ts'
import type { FailedSignIn } from '../accounts/audit.ts'
import { createSignIns } from '../accounts/sign-in.ts'
import { createInvitations } from '../accounts/invitations.ts'
import { createMembers } from '../accounts/members.ts'
import { createSignUps } from '../accounts/sign-up.ts'
import { createPasswordLinks } from '../accounts/password-links.ts'
import { createPasswords } from '../accounts/password.ts'
import { createPasskeyChallenges } from '../accounts/passkey-challenges.ts'
import { createPasskeys } from '../accounts/passkeys.ts'
import { createPeople } from '../accounts/people.ts'
import { createSessionKeys } from '../accounts/session-keys.ts'
import { createSessions } from '../accounts/sessions.ts'
import { createSetUpLinks } from '../accounts/set-up-link.ts'
import { createPublicOrigin } from '../http/public-origin.ts'
import { siteAddress } from '../settings/config.ts'
import { createSessionCookie } from '../http/session-cookie.ts'
import { createClientAttempts, createSignInAttempts } from '../policy/attempts.ts'
import type { Counts } from '../policy/counts.ts'
import type { Environment, StoreParts } from './store.ts'

/** How people sign in: their passwords, sessions and links. */
export type People = ReturnType<typeof assemblePeople>

export function assemblePeople(
  environment: Environment,
  { store, audit, announce, secret }: StoreParts,
  counts: Counts,
) {
  const { config, events, clock } = environment
  const { limits, signUp } = config
  const baseUrl = siteAddress(config)
  const stored = { store, audit, announce, clock }
  const passwords = createPasswords(limits)
  const sessions = createSessions({ ...stored, limits })
  const attempts = createSignInAttempts(counts)
  const people = createPeople({ ...stored, passwords, attempts })
  const gate = createPasswordGate(store.db, config)
  const signInParts = {
    ...stored,
    passwords,
    people,
    sessions,
    attempts,
    assertPasswordsOpen: gate.assertOpen,
    onFailure: (failed: FailedSignIn) => {
      events.signInFailed()
      return audit.countFailedSignIn(failed)
    },
  }
  const challenges = createPasskeyChallenges(secret.keyFor('passkeys', 32), clock)
  return {
    passkeys: createPasskeys({ ...signInParts, challenges }),
    publicOrigin: createPublicOrigin(config.baseUrl),
    /** Counts a failed sign-in. */
    signInFailed: signInParts.onFailure,
    signIns: createSignIns(signInParts),
    signUps: createSignUps({ ...signInParts, signUp }),
    oidcSignIns: createOidcSignIns({ ...stored, sessions, accountId: config.oidcAccount }),
    passwordsAreOpen: gate.isOpen,
    oidcLabel: config.oidcIssuer === undefined ? null : config.oidcLabel,
    signUp,
    people,
    sessions,
    sessionKeys: createSessionKeys({ ...stored, limits }),
    setUpLinks: createSetUpLinks(stored),
    members: createMembers(stored),
    passwordLinks: createPasswordLinks({ ...stored, baseUrl }),
    invitations: createInvitations({ ...stored, baseUrl, limits }),
    attempts,
    clientAttempts: createClientAttempts(counts),
    cookie: createSessionCookie(config.baseUrl),
  }
}
