import { JsonRpcError, rpcCodes, type Params } from '../json-rpc.ts'
import {
  assertKnownRevision,
  capabilities,
  instructions,
  negotiate,
  serverInfo,
  sessionHeader,
} from '../protocol.ts'
import { clientOf, type Client, type Sessions } from '../sessions.ts'
import { withMembers, type ToolsInForce } from '../tool.ts'
import { emptyLists, onlyPage, type Era, type Method } from './era.ts'

type Options = {
  inForce: () => Pick<ToolsInForce, 'list'>
  sessions: Sessions
  /** Returns false for an unknown level. */
  setLevel: (client: Client, level: unknown) => boolean
}

const handshake = 'initialize'

/** Revisions 2024-11-05 to 2025-11-25: a handshake, sessions, batches. */
export function createLegacyEra({ inForce, sessions, setLevel }: Options): Era {
  const methods = new Map<string, Method>([
    [handshake, initialize],
    ['ping', () => '{}'],
    ['tools/list', (params) => onlyPage(params, inForce().list)],
    ...emptyLists
      .entries()
      .map(([method, list]): [string, Method] => [method, (params) => onlyPage(params, list)]),
    [
      'logging/setLevel',
      ({ level }, client) => {
        if (setLevel(client, level)) return '{}'
        const text = "'level' must be a log level, such as info."
        throw new JsonRpcError(rpcCodes.invalidParams, text)
      },
    ],
  ])
  return {
    assertAllowed: ({ isBatch, messages: [first] }, { caller, request: { headers } }) => {
      assertKnownRevision(headers)
      if (!isBatch && first?.kind === 'request' && first.method === handshake) return
      sessions.check(caller.accountId, clientOf(caller, headers))
    },
    clientOf: ({ caller, request }) => clientOf(caller, request.headers),
    headersOf: ({ method }, { caller }) =>
      method === handshake ? { [sessionHeader]: sessions.begin(caller.accountId) } : undefined,
    methods,
    streams: new Map(),
    statusOf: () => 200,
    print: ({ printed, meta }) =>
      meta === undefined ? printed : withMembers(printed, { _meta: meta }),
    takesCancellation: true,
    logsInAnswer: false,
  }
}

function initialize({ protocolVersion: revision }: Params): string {
  const agreed = negotiate(revision)
  return JSON.stringify({ protocolVersion: agreed, capabilities, serverInfo, instructions })
}
