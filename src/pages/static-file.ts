import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import type { Router } from '@koa/router'
import type { Answer } from '../http/answer.ts'
import { codedBytesMin, encode, preferredCoding, type Coding } from '../http/content-coding.ts'
import { isCurrent } from '../http/entity-tag.ts'
import type { ExchangeState } from '../http/exchange.ts'

export type StaticFile = {
  type: string
  content: string | URL
  headers?: Record<string, string>
}

/** A file in one content coding, with its responses. */
type Form = { bytes: Buffer; etag: string; found: Answer; unchanged: Answer }

/**
 * The earliest moment from which this process serves its files. The dates of the files themselves are not used: in
 * a package of npm they are the same in each version.
 */
const servedSince = new Date(Math.floor(performance.timeOrigin / 1000) * 1000)

/** Higher brotli qualities take ten times as long for output that is a tenth smaller. */
const brotliQuality = 9

/** Answers GET requests of a path with a file. */
export function bindFile(router: Router<ExchangeState>, path: string, file: StaticFile): void {
  const answerTo = staticFile(file)
  router.get(path, async ({ req, state }) => {
    state.answer = await answerTo(req)
  })
}

/**
 * Serves a file that does not change while the process runs. The file is read and compressed once, at
 * the first request. All responses share its bytes, so a slow client takes no memory.
 */
export function staticFile(file: StaticFile): (request: IncomingMessage) => Promise<Answer> {
  const forms = new Map<Coding, Promise<Form>>()
  const formOf = (coding: Coding): Promise<Form> => {
    const known = forms.get(coding)
    if (known !== undefined) return known
    const made = makeForm(file, coding, formOf)
    forms.set(coding, made)
    // A failed read is tried again at the next request.
    made.catch(() => forms.delete(coding))
    return made
  }
  const isCoded = !/^(?:image|font)\//.test(file.type)
  return async ({ headers }) => {
    const coding = isCoded ? preferredCoding(headers['accept-encoding']) : 'identity'
    const { etag, found, unchanged } = await formOf(coding)
    return isKnown(headers, etag) ? unchanged : found
  }
}

/** Whether the client has the file; its tag takes precedence over its date (RFC 9110 section 13.2.2). */
function isKnown(headers: IncomingMessage['headers'], etag: string): boolean {
  const { 'if-none-match': known, 'if-modified-since': since = '' } = headers
  return known === undefined ? Date.parse(since) >= servedSince.getTime() : isCurrent(known, etag)
}

async function makeForm(
  { type, content, headers }: StaticFile,
  coding: Coding,
  formOf: (coding: Coding) => Promise<Form>,
): Promise<Form> {
  const plain = coding === 'identity' ? undefined : await formOf('identity')
  if (plain !== undefined && plain.bytes.length < codedBytesMin) return plain
  let bytes: Buffer
  if (coding !== 'identity') bytes = await encode(plain!.bytes, coding, brotliQuality)
  else bytes = typeof content === 'string' ? Buffer.from(content) : await readFile(content)
  const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`
  // Browsers revalidate the file each time, so that they see a new version of the gateway at once.
  const about = {
    etag,
    'last-modified': servedSince.toUTCString(),
    'cache-control': 'no-cache',
    vary: 'accept-encoding',
    ...headers,
  }
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
