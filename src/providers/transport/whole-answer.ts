import { joinPieces } from '../../bytes/pieces.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { PieceReader } from './upstream.ts'

/** Collects a whole answer; `finish` gives its bytes. */
export function wholeReader(): PieceReader<Buffer> {
  const pieces: Buffer[] = []
  return {
    push: (piece) => pieces.push(piece),
    finish: () => joinPieces(pieces),
  }
}

/** Parses an upstream's JSON. Throws a ProviderFailure `malformed`. */
export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch (cause) {
    throw new ProviderFailure('malformed', 'The answer is not JSON.', { cause })
  }
}
