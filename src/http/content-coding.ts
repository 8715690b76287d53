import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** The content codings, the one that gives the fewest bytes first. */
const codings = ['br', 'gzip', 'identity'] as const
export type Coding = (typeof codings)[number]

/** Below this a coding saves no packet. */
export const codedBytesMin = 1024

/** Codes bytes; `quality` is brotli's, from 0 to 11. */
export function encode(
  bytes: Buffer,
  coding: Exclude<Coding, 'identity'>,
  quality: number,
): Promise<Buffer> {
  if (coding === 'gzip') return promisify(gzip)(bytes)
  return promisify(brotliCompress)(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: quality,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  })
}

/** A coding that is not named weighs nothing, except none at all (RFC 9110 section 12.5.3). */
const unnamedIdentityWeight = 0.0001

/** The coding that a client weighs most; none where it takes no coding or says nothing. */
export function preferredCoding(accepted: string | undefined): Coding {
  if (accepted === undefined) return 'identity'
  const weights = new Map(accepted.toLowerCase().split(',').map(weightOf))
  const unnamed = weights.get('*')
  let preferred: Coding = 'identity'
  let most = 0
  for (const coding of codings) {
    const fallback = coding === 'identity' ? unnamedIdentityWeight : 0
    const weight = weights.get(coding) ?? unnamed ?? fallback
    if (weight > most) [preferred, most] = [coding, weight]
  }
  return preferred
}

/** A coding and its weight, as in `gzip;q=0.5`. */
function weightOf(part: string): [coding: string, weight: number] {
  const [coding = '', weight] = part.split(/;\s*q=/, 2)
  return [coding.trim(), weight === undefined ? 1 : Number(weight) || 0]
}
