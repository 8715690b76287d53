/**
 * The token of a one-time link. It is removed from the address before any request is sent, and kept in the
 * history state so that reloading the page works. Links carry it in the fragment, which browsers do not send;
 * older links carry it in the query.
 */
const taken = take()

/** The token in the address that opened the page. */
export const oneTimeToken = (): string | undefined => taken

/** Removes the token after it was used. */
export const forgetToken = (): void => history.replaceState(null, '', location.pathname)

function take(): string | undefined {
  const inFragment = new URLSearchParams(location.hash.slice(1)).get('token')
  const query = new URLSearchParams(location.search)
  const kept = (history.state as { token?: string } | null)?.token
  const token = inFragment ?? query.get('token') ?? kept
  if (token === undefined || token === null || token === '') return undefined
  query.delete('token')
  const rest = query.size === 0 ? '' : `?${query.toString()}`
  history.replaceState({ token }, '', `${location.pathname}${rest}`)
  return token
}
