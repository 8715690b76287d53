import { GatewayError } from '../core/error.ts'
import { mediaType } from '../core/image/picture.ts'
import type { PictureFile, PictureFiles } from '../core/picture-files.ts'
import type { Answer } from '../http/answer.ts'
import { isCurrent } from '../http/entity-tag.ts'
import { errorAnswer } from '../http/error-answer.ts'
import type { Operation } from '../http/operation.ts'

type Options = { pictureFiles: PictureFiles }

/** Answers a signed link with the picture, or a range of it (RFC 9110 section 14). */
export function retrieveImageFile({ pictureFiles }: Options): Operation<'retrieveImageFile'> {
  return async ({ path, query, memory, request, requestId }) => {
    const { file, read } = await pictureFiles.follow({ fileId: path.file_id, ...query })
    const headers = headersOf(file)
    const { etag } = headers
    const { method, headers: sent } = request
    if (isCurrent(sent['if-none-match'], etag)) return { status: 304, headers }
    const isHead = method === 'HEAD'
    const range = isHead ? undefined : rangeIn(sent.range, sent['if-range'], { etag, ...file })
    if (range === 'none') return noSuchRange(file, requestId)
    const { start, end } = range ?? { start: 0, end: file.bytes }
    headers['content-length'] = String(end - start)
    if (range !== undefined) headers['content-range'] = `bytes ${start}-${end - 1}/${file.bytes}`
    const status = range === undefined ? 200 : 206
    if (isHead) return { status, headers, pieces: [] }
    const bytes = await read(memory)
    if (bytes === undefined)
      throw new GatewayError('not_found', 'The bytes of this picture are lost.')
    return { status, headers, pieces: [bytes.subarray(start, end)] }
  }
}

function headersOf({ id, format, sha256 }: PictureFile) {
  const extension = format === 'jpeg' ? 'jpg' : format
  return {
    'content-type': mediaType(format),
    'content-disposition': `inline; filename="${id}.${extension}"`,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    // A page that a browser would make of the answer can do nothing; a vector picture keeps its own styles.
    'content-security-policy': `default-src 'none'; ${format === 'svg' ? svgPolicy : ''}sandbox`,
    'cross-origin-resource-policy': 'cross-origin',
    'accept-ranges': 'bytes',
    etag: `"${sha256}"`,
  } as Record<string, string> & { etag: string }
}

const svgPolicy = "style-src 'unsafe-inline'; img-src data:; "

type Range = { start: number; end: number }

/**
 * The requested range; `none` if the picture has no such bytes. Undefined for a header that the server may
 * ignore: of another unit, malformed, with several ranges, or for other bytes than these.
 */
function rangeIn(
  range: string | undefined,
  condition: string | string[] | undefined,
  { etag, bytes }: { etag: string; bytes: number },
): Range | 'none' | undefined {
  const [, first, last] = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(range ?? '') ?? []
  if (first === undefined || last === undefined || first + last === '') return undefined
  if (condition !== undefined && condition !== etag) return undefined
  if (first === '') {
    const start = Math.max(0, bytes - Number(last))
    return Number(last) === 0 ? 'none' : { start, end: bytes }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return undefined
  return start >= bytes ? 'none' : { start, end: Math.min(Number(last || bytes), bytes - 1) + 1 }
}

function noSuchRange({ bytes }: PictureFile, requestId: string): Answer {
  const text = `The picture has ${bytes} bytes, and none of them is in the requested range.`
  const refusal = new GatewayError('invalid_value', text, { status: 416, param: 'range' })
  const { headers, ...answer } = errorAnswer(refusal, { requestId })
  return { ...answer, headers: { ...headers, 'content-range': `bytes */${bytes}` } }
}
