type Headers = Readonly<Record<string, string | string[] | undefined>>

/**
 * Seconds of `retry-after-ms` or `retry-after`, a number or a date (RFC 9110 section 10.2.3). A
 * date is compared with the answer's own `date`, so that clock skew does not matter.
 */
export function retryAfterSeconds({ headers }: { headers: Headers }): number | undefined {
  const milliseconds = Number(headers['retry-after-ms'])
  if (milliseconds > 0) return milliseconds / 1000
  const text = String(headers['retry-after'] ?? '')
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text)
  const seconds = (Date.parse(text) - Date.parse(String(headers['date']))) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}
