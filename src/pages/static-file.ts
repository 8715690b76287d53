import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Answer } from '../http/answer.ts'

export type StaticFile = {
  type: string
  /** Its text, or where it is. */
  content: string | URL
  /** These win. */
  headers?: Record<string, string>
}

/** The content codings, the one that gives the fewest bytes first. */
const codings = ['br', 'gzip', 'identity'] as const
type Coding = (typeof codings)[number]

/** A file in one coding, with the answers that have it. */
type Form = { bytes: Buffer; etag: string; found: Answer; unchanged: Answer }

/** Beyond this quality brotli takes ten times as long for a tenth less. */
const brotliQuality = 9
/** Below this a coding saves no packet. */
const codedBytesMin = 1024

const compress: Record<Exclude<Coding, 'identity'>, (bytes: Buffer) => Promise<Buffer>> = {
  br: (bytes) =>
    promisify(brotliCompress)(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: brotliQuality,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
  gzip: promisify(gzip),
}

/**
 * Answers with a file that does not change while the process runs. It is read and coded once, when it
 * is first asked for, and all answers share its bytes, so that one that waits in a socket holds none.
 */
export function staticFile(file: StaticFile): (request: IncomingMessage) => Promise<Answer> {
  const forms = new Map<Coding, Promise<Form>>()
  const formOf = (coding: Coding): Promise<Form> => {
    const known = forms.get(coding)
    if (known !== undefined) return known
    const made = makeForm(file, coding, formOf)
    forms.set(coding, made)
    // What could not be read is tried again at the next request.
    made.catch(() => forms.delete(coding))
    return made
  }
  const isCoded = !file.type.startsWith('image/')
  return async ({ headers }) => {
    const coding = isCoded ? preferredCoding(headers['accept-encoding']) : 'identity'
    const { etag, found, unchanged } = await formOf(coding)
    return isCurrent(headers['if-none-match'], etag) ? unchanged : found
  }
}

async function makeForm(
  { type, content, headers }: StaticFile,
  coding: Coding,
  formOf: (coding: Coding) => Promise<Form>,
): Promise<Form> {
  const plain = coding === 'identity' ? undefined : await formOf('identity')
  if (plain !== undefined && plain.bytes.length < codedBytesMin) return plain
  let bytes: Buffer
  if (coding !== 'identity') bytes = await compress[coding](plain!.bytes)
  else bytes = typeof content === 'string' ? Buffer.from(content) : await readFile(content)
  const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`
  // Asked about each time, so that a new version of the gateway is seen at once.
  const about = { etag, 'cache-control': 'no-cache', vary: 'accept-encoding', ...headers }
  const contentHeaders = {
    ...about,
    'content-type': type,
    'x-content-type-options': 'nosniff',
    ...(coding === 'identity' ? {} : { 'content-encoding': coding }),
  }
  return {
    bytes,
    etag,
    found: { status: 200, headers: contentHeaders, pieces: [bytes], shared: true },
    unchanged: { status: 304, headers: about },
  }
}

/** A coding that is not named weighs nothing, except none at all (RFC 9110 section 12.5.3). */
const unnamedIdentityWeight = 0.0001

/** The coding that a client weighs most; none where it takes no coding or says nothing. */
function preferredCoding(accepted: string | undefined): Coding {
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

/** Whether a client has the bytes already: weak tags count as strong ones (RFC 9110 section 13.1.2). */
function isCurrent(known: string | undefined, etag: string): boolean {
  if (known === undefined) return false
  return known.trim() === '*' || known.split(/("[^"]*")/).includes(etag)
}
