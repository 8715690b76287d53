import type { Elsewhere } from '../elsewhere.ts'
import { emptyLists, onlyPage } from '../answer-at-once.ts'
import { withMembers } from '../content.ts'
import { JsonRpcError, rpcCodes } from '../json-rpc.ts'
import type { LogLevels } from '../log-levels.ts'
import type { Params } from '../messages.ts'
import { assertKnownRevision, negotiate } from '../revision.ts'
import { capabilities, instructions, serverInfo } from '../server-card.ts'
import { clientOf, sessionHeader, type Client, type Sessions } from '../sessions.ts'
import type { ToolsInForce } from '../tool.ts'
import type { Era, Method } from './era.ts'

type Options = {
  inForce: () => Pick<ToolsInForce, 'list'>
  levels: LogLevels
  sessions: Sessions
  elsewhere: Pick<Elsewhere, 'setLevel'>
}

const handshake = 'initialize'

/** Revisions 2024-11-05 to 2025-11-25: a handshake, sessions, batches. */
export function createLegacyEra(options: Options): Era {
  const { inForce, sessions } = options
  const methods = new Map<string, Method>([
    [handshake, initialize],
    ['ping', () => '{}'],
    ['tools/list', (params) => onlyPage(params, inForce().list)],
    ...emptyLists
      .entries()
      .map(([method, list]): [string, Method] => [method, (params) => onlyPage(params, list)]),
    ['logging/setLevel', ({ level }, client) => setLevel(options, client, level)],
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

function initialize({ protocolVersion: asked }: Params): string {
  const agreed = negotiate(asked)
  return JSON.stringify({ protocolVersion: agreed, capabilities, serverInfo, instructions })
}

function setLevel({ levels, elsewhere }: Options, client: Client, level: unknown): string {
  if (levels.set(client, level)) {
    elsewhere.setLevel(client, level)
    return '{}'
  }
  throw new JsonRpcError(rpcCodes.invalidParams, "'level' must be a log level, such as info.")
}
