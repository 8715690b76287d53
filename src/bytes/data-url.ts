/** A data URL's media type and base64 text; undefined when it is not in base64. */
export function readDataUrl(url: string): { mediaType: string; base64: string } | undefined {
  // Only the head: a pattern must not walk over megabytes.
  const head = /^data:([^;,]+)(?:;[^;,]*)*?;base64,/i.exec(url.slice(0, 256))
  if (head === null) return undefined
  const base64 = url.slice(head[0].length)
  return base64 === '' ? undefined : { mediaType: head[1]!.toLowerCase(), base64 }
}
