import type { CountTurn } from '../../core/chat/chat.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { UpstreamHead, UpstreamRequest } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { parseJson, receive, wholeReader, type PieceReader } from '../transport/upstream.ts'
import { membersOf } from './any-json.ts'
import { countIn } from './token-count.ts'

/** An answer has one number and, at some vendors, a few details. */
const bytesMax = 65_536

type Asked = {
  endpoint: Pick<Endpoint, 'dispatch'>
  request: UpstreamRequest
  /** The member of the answer that has the count. */
  member: string
  readFailure: (head: UpstreamHead) => PieceReader<never>
}

/** Requests a count of input tokens. Throws a ProviderFailure. */
export function countInput(
  { endpoint: { dispatch }, request, member, readFailure }: Asked,
  { signal, hold, traceHeaders }: CountTurn,
): Promise<number> {
  return receive({ dispatch, request, signal, hold, traceHeaders, bytesMax }, (head) => {
    if (head.status !== 200) return readFailure(head)
    const { push, finish } = wholeReader()
    return { push, finish: () => read(parseJson(finish()), member) }
  })
}

function read(answer: unknown, member: string): number {
  const tokens = countIn(membersOf(answer)[member])
  if (tokens === undefined) throw new ProviderFailure('malformed', 'The answer has no token count.')
  return tokens
}
