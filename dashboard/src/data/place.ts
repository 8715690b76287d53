import { signal } from '@preact/signals'

/** Path of the dashboard on the gateway. */
export const base = '/dashboard'

type Place = { path: string; query: URLSearchParams }

// Bookmarks of the API reference at this address have fragments such as `#/Images/createImage`.
if (location.pathname.startsWith('/docs')) {
  const [, operation = ''] = /([^/#]*)$/.exec(location.hash) ?? []
  history.replaceState(null, '', `${base}/reference/${operation}`.replace(/\/$/, ''))
}

function read(): Place {
  const path = location.pathname.slice(base.length).replace(/\/+$/, '') || '/'
  return { path, query: new URLSearchParams(location.search) }
}

/** Path below `/dashboard`, and query, of the current address. */
export const place = signal(read())

addEventListener('popstate', () => (place.value = read()))

/** The address of a page of the dashboard. */
export function addressOf(path: string, query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((one): one is [string, string] => Boolean(one[1]))
  const text = new URLSearchParams(given).toString()
  return `${base}${path === '/' ? '' : path}${text === '' ? '' : `?${text}`}`
}

/**
 * The decoded rest of the path after its first segment, such as the id in `/keys/{id}`; undefined when it is
 * empty. A malformed percent-encoding is returned unchanged.
 */
export function nameInPlace(): string | undefined {
  const text = place.value.path.split('/').slice(2).join('/')
  if (text === '') return undefined
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Navigates to a page; `replace` adds no history entry. */
export function go(address: string, { replace = false } = {}): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', address)
  const before = place.value.path
  place.value = read()
  if (place.value.path !== before) scrollTo(0, 0)
}

/** Changes query parameters of the current address; the value undefined removes a parameter. */
export function setQuery(change: Record<string, string | undefined>): void {
  const query = { ...Object.fromEntries(place.value.query), ...change }
  go(addressOf(place.value.path, query), { replace: true })
}

/** The parameters of the address with these names and a value, unchecked: the gateway validates them. */
export function chosenIn<Query extends object>(names: readonly (keyof Query & string)[]): Query {
  const values = names.map((name) => [name, place.value.query.get(name) ?? ''] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== '')) as Query
}

/** Navigates by links within the dashboard without loading the document again. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  const link = (event.target as Element).closest?.('a[href]')
  if (!(link instanceof HTMLAnchorElement) || link.target !== '' || link.hasAttribute('download')) {
    return
  }
  const isOurs =
    link.origin === location.origin &&
    (link.pathname === base || link.pathname.startsWith(`${base}/`))
  if (!isOurs) return
  event.preventDefault()
  go(link.pathname + link.search)
}
