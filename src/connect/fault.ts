/** What would break a client: one sentence that says what is so, and one that says what to change. */
export type Fault = { code: string; text: string; remedy: string }

/** What is to be known, but breaks nothing. */
export type Note = { note: string }

/** Which setting names the public address. */
export function setBaseUrl(origin: string): string {
  return `Set BASE_URL=${origin} for the gateway, and restart it.`
}

/** What a proxy needs to let all paths through. */
export const passAllPaths =
  'Pass all paths to the gateway: nginx `location / { proxy_pass http://gateway; }`, Caddy `reverse_proxy` without a path (deploy/proxies).'

/**
 * A text without what is drawn anew for each client: it may be a secret, and one fault of all
 * clients is told once.
 */
export function withoutIds(text: string): string {
  return text.replaceAll(/[\w-]{32,}/g, '…')
}

/** Text of the other side, short and without what a terminal would obey. */
export function quoted(text: unknown): string {
  const shown = typeof text === 'string' ? text : (JSON.stringify(text) ?? 'nothing')
  // Control characters and marks of direction.
  return `'${withoutIds(shown.slice(0, 1000).replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ')).slice(0, 200)}'`
}
