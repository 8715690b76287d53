/** The first request id in a text, such as an error message or a log line; undefined if no id is found. */
export function requestIdIn(text: string): string | undefined {
  return /\breq_[0-9a-f]{32}\b/.exec(text)?.[0]
}
