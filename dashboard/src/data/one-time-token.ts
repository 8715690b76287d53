/**
 * The token of a one-time link, which is taken out of the address before anything is sent, and kept with
 * the place in the history, so that loading the page anew works. Links have it behind the `#`, which no
 * browser sends; older ones in the query.
 */
const taken = take()

/** The token that the page was opened with. */
export const oneTimeToken = (): string | undefined => taken

/** Forgets it once it has been used. */
export const forgetToken = (): void => history.replaceState(null, '', location.pathname)

function take(): string | undefined {
  const behind = new URLSearchParams(location.hash.slice(1)).get('token')
  const query = new URLSearchParams(location.search)
  const kept = (history.state as { token?: string } | null)?.token
  const token = behind ?? query.get('token') ?? kept
  if (token === undefined || token === null || token === '') return undefined
  query.delete('token')
  const rest = query.size === 0 ? '' : `?${query.toString()}`
  history.replaceState({ token }, '', `${location.pathname}${rest}`)
  return token
}
