import { fieldsOf, emptyLine, lineFeed, lineFeeds } from './event-source.ts'
import { base64Splicer, type SplicedJson } from './base64-reader.ts'
import { parseJson, type PieceReader } from '../transport/upstream.ts'

/** The data of an event, and its name if it has one. */
export type PictureEvent = SplicedJson & { name: string | undefined }

/**
 * Splits a stream into events whose members named `key` contain megabytes of base64, which is kept as received.
 * `read` receives each event and returns whether it keeps the base64. `push` may throw a ProviderFailure.
 */
export function pictureEvents(
  key: string,
  read: (event: PictureEvent) => boolean,
): Required<Pick<PieceReader<never>, 'push' | 'releasedBytes'>> {
  const withLineFeeds = lineFeeds()
  let splicer = base64Splicer(key)
  let eventBytes = 0
  let releasedBytes = 0
  let hasLineEnd = false

  const take = (piece: Buffer) => {
    splicer.push(piece)
    eventBytes += piece.length
    hasLineEnd = piece[piece.length - 1] === lineFeed
  }
  const endEvent = () => {
    const { around, texts } = splicer.end()
    const { name, data } = fieldsOf(around)
    const isRead = data !== '' && data !== '[DONE]'
    if (!isRead || !read({ json: parseJson(Buffer.from(data)), texts, name })) {
      releasedBytes += eventBytes
    }
    splicer = base64Splicer(key)
    eventBytes = 0
    hasLineEnd = false
  }
  return {
    releasedBytes: () => releasedBytes,
    push: (chunk) => {
      let piece = withLineFeeds(chunk)
      while (piece.length > 0) {
        const isSplit = hasLineEnd && piece[0] === lineFeed
        const at = isSplit ? -1 : piece.indexOf(emptyLine)
        const end = at < 0 && !isSplit ? piece.length : at + emptyLine.length
        take(piece.subarray(0, end))
        if (at >= 0 || isSplit) endEvent()
        piece = piece.subarray(end)
      }
    },
  }
}
