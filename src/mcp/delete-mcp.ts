import type { Operation } from '../http/operation.ts'
import { assertKnownRevision } from './revision.ts'
import { clientOf, type Client, type Sessions } from './sessions.ts'

type Options = { sessions: Sessions; endSession: (client: Client) => void }

/** DELETE /mcp: ends a session with its streams and calls; without one there is nothing to end. */
export function deleteMcp({ sessions, endSession }: Options): Operation<'deleteMcp'> {
  return async ({ request, caller }) => {
    assertKnownRevision(request.headers)
    const client = clientOf(caller, request.headers)
    sessions.check(caller.accountId, client)
    if (client.sessionId !== undefined) endSession(client)
    return { status: 204 }
  }
}
