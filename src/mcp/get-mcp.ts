import type { Operation } from '../http/operation.ts'
import type { EventStreams } from './event-streams.ts'
import { toolServerCard } from './methods.ts'
import { accepts } from './post-mcp.ts'

/** GET /mcp: an event stream if `Accept` names one, else a description of the tool server. */
export function getMcp(streams: EventStreams): Operation<'getMcp'> {
  return async ({ request, caller, ending }) => {
    const { method, headers } = request
    if (method === 'GET' && accepts(headers.accept, 'text/event-stream')) {
      return streams.open(caller, ending.signal)
    }
    return { status: 200, json: toolServerCard }
  }
}
