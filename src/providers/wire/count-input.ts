import { ProviderFailure } from '../../core/failure.ts'
import type { Turn } from '../../core/turn.ts'
import type { UpstreamHead, UpstreamRequest } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { parseJson, receive, wholeReader, type PieceReader } from '../transport/upstream.ts'
import { membersOf } from '../../core/any-json.ts'
import { countIn } from './token-count.ts'

/** An answer has one number and, at some vendors, a few details. */
const bytesMax = 65_536

type CountCall = {
  endpoint: Pick<Endpoint, 'dispatch'>
  request: UpstreamRequest
  member: string
  readFailure: (head: UpstreamHead) => PieceReader<never>
}

/** Requests a count of input tokens. Throws a ProviderFailure. */
export function countInput(
  { endpoint: { dispatch }, request, member, readFailure }: CountCall,
  turn: Turn,
): Promise<number> {
  return receive({ dispatch, request, bytesMax }, turn, (head) =>
    head.status === 200
      ? wholeReader((bytes) => read(parseJson(bytes), member))
      : readFailure(head),
  )
}

function read(answer: unknown, member: string): number {
  const tokens = countIn(membersOf(answer)[member])
  if (tokens === undefined) throw new ProviderFailure('malformed', 'The answer has no token count.')
  return tokens
}
