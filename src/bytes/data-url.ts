/**
 * The media type of a data URL in lower case, which may be empty, and its base64 text. Undefined when
 * it is not in base64 or has no data.
 */
export function readDataUrl(url: string): { mediaType: string; base64: string } | undefined {
  // Only the head is matched, so that the pattern never scans megabytes.
  const head = /^data:([^;,]*)(?:;[^;,]*)*?;base64,/i.exec(url.slice(0, 256))
  if (head === null) return undefined
  const base64 = url.slice(head[0].length)
  return base64 === '' ? undefined : { mediaType: head[1]!.toLowerCase(), base64 }
}
