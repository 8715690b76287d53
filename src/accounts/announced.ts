import type { Announcement } from '../peers/announcement.ts'
import type { Accounts } from './accounts.ts'
import type { Entrance } from './entrance.ts'
import type { Keys } from './keys.ts'
import type { Members } from './members.ts'
import type { Connections } from './oauth/connections.ts'
import type { People } from './people.ts'
import type { SessionKeys } from './session-keys.ts'
import type { Sessions } from './sessions.ts'

/** Tells every process, this one too, what was changed in the store just now. */
export type Announce = (announcement: Announcement) => void

/** Keys whose changes are told once they are in the store. */
export function announcedKeys(keys: Keys, announce: Announce): Keys {
  const tell = (id: string) => announce({ kind: 'keys_changed', keyIds: [id] })
  return {
    ...keys,
    update: behind(keys.update, ({ id }) => tell(id)),
    rotate: behind(keys.rotate, (_, [, { id }]) => tell(id)),
    revoke: behind(keys.revoke, ({ id }) => tell(id)),
  }
}

/** Keys of sessions whose renewal, which ends the secret before, is told. */
export function announcedSessionKeys({ renew }: SessionKeys, announce: Announce): SessionKeys {
  return {
    renew: behind(renew, ({ id }) => announce({ kind: 'keys_changed', keyIds: [id] })),
  }
}

/** Connections of which it is told when somebody says yes: again, and another budget may hold. */
export function announcedConnections({ connect }: Connections, announce: Announce): Connections {
  return { connect: behind(connect, (id) => announce({ kind: 'keys_changed', keyIds: [id] })) }
}

/** Accounts whose changes are told, as those of keys are. */
export function announcedAccounts(accounts: Accounts, announce: Announce): Accounts {
  const tell = (accountId: string) => announce({ kind: 'account_changed', accountId })
  return { ...accounts, update: behind(accounts.update, ({ id }) => tell(id)) }
}

/** Sessions whose end is told. */
export function announcedSessions(sessions: Sessions, announce: Announce): Sessions {
  const tell = () => announce(sessionsChanged)
  const { end, endOthers } = sessions
  return { ...sessions, end: behind(end, tell), endOthers: behind(endOthers, tell) }
}

/** Members whose going, which ends their connections and may end their sessions, is told. */
export function announcedMembers(members: Members, announce: Announce): Members {
  const tell = (accountId: string) => {
    announce({ kind: 'account_changed', accountId })
    announce(sessionsChanged)
  }
  return {
    ...members,
    remove: behind(members.remove, (_, [{ accountId }]) => tell(accountId)),
    leave: behind(members.leave, (_, [, accountId]) => tell(accountId)),
  }
}

/** People whose new password, which ends their other sessions, is told. */
export function announcedPeople(people: People, announce: Announce): People {
  const changePassword = behind(people.changePassword, () => announce(sessionsChanged))
  return { ...people, changePassword }
}

/** An entrance of which it is told when a new password ends sessions. */
export function announcedEntrance(entrance: Entrance, announce: Announce): Entrance {
  const tell = () => announce(sessionsChanged)
  const { setUp, resetPassword } = entrance
  return { ...entrance, setUp: behind(setUp, tell), resetPassword: behind(resetPassword, tell) }
}

const sessionsChanged: Announcement = { kind: 'sessions_changed' }

/** The same work, with something else behind it where it succeeds. */
function behind<Words extends readonly unknown[], Result>(
  work: (...words: Words) => Promise<Result>,
  then: (result: Result, words: Words) => void,
): (...words: Words) => Promise<Result> {
  return async (...words) => {
    const result = await work(...words)
    then(result, words)
    return result
  }
}
