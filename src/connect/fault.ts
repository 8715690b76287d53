/** A fault that breaks clients: `text` is the finding, `remedy` says what to change. */
export type Fault = { code: string; text: string; remedy: string }

/** The remedy for a wrong public address. */
export function setBaseUrl(origin: string): string {
  return `Set BASE_URL=${origin} for the gateway, and restart it.`
}

/** The remedy for answers that the gateway does not send. */
export const updateRemedy =
  'Update the gateway, or delete the rule of the proxy that rewrites its answers.'

/** The remedy for a proxy that does not pass all paths. */
export const passAllPathsRemedy =
  'Pass all paths to the gateway: nginx `location / { proxy_pass http://gateway; }`, Caddy `reverse_proxy` without a path (deploy/proxies).'

/**
 * Masks random ids, which may be secret; then equal faults of several clients are reported once.
 */
export function withoutIds(text: string): string {
  return text.replaceAll(/[\w-]{32,}/g, '…')
}

/** Quotes text of the server, shortened and without terminal control characters. */
export function quoted(text: unknown): string {
  const shown = typeof text === 'string' ? text : (JSON.stringify(text) ?? 'nothing')
  // Control characters and invisible format characters, such as direction marks.
  return `'${withoutIds(shown.slice(0, 1000).replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ')).slice(0, 200)}'`
}
