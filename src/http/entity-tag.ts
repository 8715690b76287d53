/** Whether the client has the current bytes; weak tags match strong ones (RFC 9110 section 13.1.2). */
export function isCurrent(known: string | undefined, etag: string): boolean {
  if (known === undefined) return false
  return known.trim() === '*' || known.split(/("[^"]*")/).includes(etag)
}
