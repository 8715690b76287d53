import type { OperationId } from '../../generated/operations.ts'
import type { Operations } from '../http/contract-router.ts'
import type { SessionCookie } from '../http/session-cookie.ts'
import { acceptInvitation } from './accept-invitation.ts'
import { changePassword } from './change-password.ts'
import { createPasswordLink } from './create-password-link.ts'
import { createSession } from './create-session.ts'
import { createSessionKey } from './create-session-key.ts'
import { deleteCurrentSession } from './delete-current-session.ts'
import { deleteOtherSessions } from './delete-other-sessions.ts'
import { deleteSession } from './delete-session.ts'
import { describeInvitation } from './describe-invitation.ts'
import { inviteMember } from './invite-member.ts'
import { leaveAccount } from './leave-account.ts'
import { listInvitations } from './list-invitations.ts'
import type { ListKeys } from './list-keys.ts'
import { listMembers } from './list-members.ts'
import { listSessions } from './list-sessions.ts'
import { removeMember } from './remove-member.ts'
import { resetPassword } from './reset-password.ts'
import { retrieveCurrentSession } from './retrieve-current-session.ts'
import { retrieveEntrance } from './retrieve-entrance.ts'
import { retrieveMe } from './retrieve-me.ts'
import { setUp } from './set-up.ts'
import { signUp } from './sign-up.ts'
import { updateMe } from './update-me.ts'
import { updateMember } from './update-member.ts'
import { withdrawInvitation } from './withdraw-invitation.ts'

/** What the operations on people need. */
export type PeopleOptions = {
  cookie: SessionCookie
  entrance: Omit<
    Parameters<typeof createSession>[0] &
      Parameters<typeof setUp>[0] &
      Parameters<typeof resetPassword>[0],
    'cookie'
  > &
    Pick<Parameters<typeof retrieveEntrance>[0], 'isSetUp'>
  signUp: Parameters<typeof retrieveEntrance>[0]['signUp']
  people: Parameters<typeof updateMe>[0] & Parameters<typeof changePassword>[0]
  sessions: Pick<Parameters<typeof retrieveCurrentSession>[0], 'current'> &
    Parameters<typeof listSessions>[0] &
    Pick<Parameters<typeof deleteSession>[0], 'end'> &
    Parameters<typeof deleteOtherSessions>[0]
  sessionKeys: Parameters<typeof createSessionKey>[0]
  newcomers: Omit<Parameters<typeof acceptInvitation>[0] & Parameters<typeof signUp>[0], 'cookie'> &
    Parameters<typeof describeInvitation>[0]
  members: Parameters<typeof listMembers>[0] &
    Parameters<typeof updateMember>[0] &
    Parameters<typeof removeMember>[0] &
    Parameters<typeof leaveAccount>[0]
  /** Of the account: those that a removed member made. */
  keys: { list: ListKeys }
  passwordLinks: Parameters<typeof createPasswordLink>[0]
  invitations: Parameters<typeof listInvitations>[0] &
    Parameters<typeof inviteMember>[0] &
    Parameters<typeof withdrawInvitation>[0]
}

/** The handlers of the operations on people and their sessions. */
export function peopleOperations(options: PeopleOptions) {
  const { cookie, entrance, people, sessions, newcomers, members, invitations } = options
  const { sessionKeys } = options
  const { end } = sessions
  return {
    retrieveEntrance: retrieveEntrance({ ...entrance, signUp: options.signUp }),
    setUp: setUp({ ...entrance, cookie }),
    resetPassword: resetPassword({ ...entrance, cookie }),
    createSession: createSession({ ...entrance, cookie }),
    createSessionKey: createSessionKey(sessionKeys),
    listSessions: listSessions(sessions),
    retrieveCurrentSession: retrieveCurrentSession({ ...sessions, ...people }),
    deleteCurrentSession: deleteCurrentSession({ end, cookie }),
    deleteSession: deleteSession({ end, cookie }),
    deleteOtherSessions: deleteOtherSessions(sessions),
    retrieveMe: retrieveMe(people),
    updateMe: updateMe(people),
    changePassword: changePassword(people),
    listMembers: listMembers(members),
    inviteMember: inviteMember(invitations),
    updateMember: updateMember(members),
    removeMember: removeMember(members, options.keys.list),
    leaveAccount: leaveAccount(members),
    createPasswordLink: createPasswordLink(options.passwordLinks),
    listInvitations: listInvitations(invitations),
    withdrawInvitation: withdrawInvitation(invitations),
    describeInvitation: describeInvitation(newcomers),
    acceptInvitation: acceptInvitation({ ...newcomers, cookie }),
    signUp: signUp({ ...newcomers, cookie }),
  } satisfies Partial<Pick<Operations, OperationId>>
}
