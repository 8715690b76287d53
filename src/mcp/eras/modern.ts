import { emptyLists, onlyPage } from '../answer-at-once.ts'
import { withMembers } from '../content.ts'
import type { EventStreams } from '../event-streams.ts'
import { rpcCodes } from '../json-rpc.ts'
import { modernRevision } from '../revision.ts'
import { capabilities, instructions, serverInfoMember } from '../server-card.ts'
import type { ToolsInForce } from '../tool.ts'
import type { Era, Method } from './era.ts'
import { listen } from './listen.ts'
import { assertModern } from './modern-request.ts'

type Options = {
  inForce: () => Pick<ToolsInForce, 'list'>
  streams: Pick<EventStreams, 'open'>
}

const ttlMs = 300_000
/** All that is listed here is the same for everybody. */
const caching = { ttlMs, cacheScope: 'public' }
/** What each result says. */
const always = { resultType: 'complete', _meta: serverInfoMember }

/** Revision 2026-07-28: each request stands for itself. */
export function createModernEra({ inForce, streams }: Options): Era {
  // A list that is answered has its capability in this revision, though it is empty.
  const declared = { ...capabilities, prompts: {}, resources: {} }
  const about = {
    supportedVersions: [modernRevision],
    capabilities: declared,
    instructions,
    ...caching,
  }
  const discovered = JSON.stringify({ ...always, ...about })
  const asResult = (list: string) => withMembers([list], { ...always, ...caching }).join('')
  // Printed once for each list that a reload makes.
  let listed = { list: '', result: '' }
  const resultOf = (list: string): string => {
    if (listed.list !== list) {
      listed = { list, result: asResult(list) }
    }
    return listed.result
  }
  const methods = new Map<string, Method>([
    ['server/discover', () => discovered],
    ['tools/list', (params) => onlyPage(params, resultOf(inForce().list))],
    ...emptyLists.entries().map(([method, list]): [string, Method] => {
      const result = asResult(list)
      return [method, (params) => onlyPage(params, result)]
    }),
  ])
  return {
    assertAllowed: (post, { request }) => assertModern(post, request.headers),
    // Nobody but the request itself can mean it: ids of other clients may be the same.
    clientOf: ({ caller, requestId }) => ({ keyId: caller.keyId, sessionId: requestId }),
    headersOf: () => undefined,
    methods,
    streams: new Map([['subscriptions/listen', (request, call) => listen(request, call, streams)]]),
    statusOf: (code) => (code === rpcCodes.methodNotFound ? 404 : 200),
    print: ({ printed, meta }) =>
      withMembers(printed, { ...always, _meta: { ...meta, ...serverInfoMember } }),
    takesCancellation: false,
    logsInAnswer: true,
  }
}
