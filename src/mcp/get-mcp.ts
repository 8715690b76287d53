import type { Operation } from '../http/operation.ts'
import type { EventStreams } from './event-streams.ts'
import { accepts } from './post-mcp.ts'
import { assertKnownRevision } from './revision.ts'
import { toolServerCard } from './server-card.ts'
import { clientOf, type Sessions } from './sessions.ts'

type Options = { streams: EventStreams; sessions: Sessions }

/** GET /mcp: an event stream if `Accept` names one, else a description of the tool server. */
export function getMcp({ streams, sessions }: Options): Operation<'getMcp'> {
  return async ({ request, caller, ending }) => {
    const { method, headers } = request
    assertKnownRevision(headers)
    if (method === 'GET' && accepts(headers.accept, 'text/event-stream')) {
      const client = clientOf(caller, headers)
      sessions.check(caller.accountId, client)
      return streams.open(caller, client, { signal: ending.signal })
    }
    return { status: 200, json: toolServerCard }
  }
}
