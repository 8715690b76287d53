import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** Supported content codings, the smallest output first. */
const codings = ['br', 'gzip', 'identity'] as const
export type Coding = (typeof codings)[number]

/** Compression of a smaller body saves no packet. */
export const codedBytesMin = 1024

/** Compresses bytes; `quality` is that of brotli, 0 to 11. */
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

/** An unlisted coding is not acceptable, except `identity` (RFC 9110 section 12.5.3). */
const unnamedIdentityWeight = 0.0001

/** The coding that the client prefers; `identity` if it accepts no other or sends no header. */
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
