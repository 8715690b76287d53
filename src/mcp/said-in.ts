/**
 * What a header says, each value once: some clients and proxies send it several times, and Node
 * joins the values.
 */
export function saidIn(header: string): string[] {
  if (!header.includes(',')) return [header.trim()]
  return [...new Set(header.split(',').map((value) => value.trim()))]
}
