import type { OperationId } from '../../generated/operations.ts'
import type { Operations } from '../http/contract-router.ts'
import type { SessionCookie } from '../http/session-cookie.ts'
import { changePassword } from './change-password.ts'
import { createSession } from './create-session.ts'
import { deleteCurrentSession } from './delete-current-session.ts'
import { deleteSession } from './delete-session.ts'
import { listSessions } from './list-sessions.ts'
import { retrieveCurrentSession } from './retrieve-current-session.ts'
import { retrieveMe } from './retrieve-me.ts'
import { setUp } from './set-up.ts'
import { updateMe } from './update-me.ts'

/** What the operations on people need. */
export type PeopleOptions = {
  cookie: SessionCookie
  entrance: Omit<Parameters<typeof createSession>[0] & Parameters<typeof setUp>[0], 'cookie'>
  people: Parameters<typeof updateMe>[0] & Parameters<typeof changePassword>[0]
  sessions: Pick<Parameters<typeof retrieveCurrentSession>[0], 'current'> &
    Parameters<typeof listSessions>[0] &
    Pick<Parameters<typeof deleteSession>[0], 'end'>
}

/** The handlers of the operations on people and their sessions. */
export function peopleOperations({ cookie, entrance, people, sessions }: PeopleOptions) {
  const { end } = sessions
  return {
    setUp: setUp({ ...entrance, cookie }),
    createSession: createSession({ ...entrance, cookie }),
    listSessions: listSessions(sessions),
    retrieveCurrentSession: retrieveCurrentSession({ ...sessions, ...people }),
    deleteCurrentSession: deleteCurrentSession({ end, cookie }),
    deleteSession: deleteSession({ end, cookie }),
    retrieveMe: retrieveMe(people),
    updateMe: updateMe(people),
    changePassword: changePassword(people),
  } satisfies Partial<Pick<Operations, OperationId>>
}
