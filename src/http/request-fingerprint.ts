import { createHash, hash } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import type { Pieces } from '../bytes/pieces.ts'
import type { LeftTexts } from '../core/image/image.ts'
import { canonicalText } from '../core/recall/cache-key.ts'

/** What makes a request another one; pictures are tickets in it, which `texts` resolves. */
type Fingerprinted = {
  request: unknown
  texts: LeftTexts
  strict: boolean
  fallback: boolean
}

/**
 * A digest that equal requests share, in any process: whatever the order of members, the boundary of
 * a form or the tickets of its files. Throws a GatewayError.
 */
export async function fingerprintOf(given: Fingerprinted): Promise<string> {
  const { texts, ...asked } = given
  let text = canonicalText(asked)
  for (const [ticket, pieces] of texts) text = text.replaceAll(ticket, await digestOf(pieces))
  return hash('sha256', text, 'base64url')
}

const hashedBytesMax = 4 * 1024 * 1024

/** Lets others be answered between some megabytes. */
async function digestOf(pieces: Pieces): Promise<string> {
  const digest = createHash('sha256')
  let bytes = 0
  for (const piece of pieces) {
    digest.update(piece)
    bytes += piece.length
    if (bytes < hashedBytesMax) continue
    bytes = 0
    await turn()
  }
  return digest.digest('base64url')
}
