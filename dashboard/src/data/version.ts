import { Refusal } from './api.ts'
import { base } from './place.ts'

/** Timeout for loading the gateway's current page. */
const lookTimeoutMs = 10_000
/** Session storage key: path of the script before the last reload. */
const reloadedFrom = 'gateway_reloaded_from'

/**
 * Loads a part of the dashboard. When the file is missing because the gateway was updated since the page was
 * opened, reloads the page, once; otherwise throws a Refusal.
 */
export async function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load()
  } catch {
    if (await isUpdated()) {
      location.reload()
      return new Promise(() => undefined)
    }
    throw new Refusal(
      'This page could not be loaded. Check that the gateway is running, then try again.',
      { status: 0, code: 'unreachable' },
    )
  }
}

/** Whether the gateway serves a newer page than this page, which was not yet reloaded for it. */
async function isUpdated(): Promise<boolean> {
  const script = document.querySelector<HTMLScriptElement>('script[type="module"]')
  const running = new URL(script!.src).pathname
  if (sessionStorage.getItem(reloadedFrom) === running) return false
  const response = await fetch(base, {
    cache: 'no-store',
    signal: AbortSignal.timeout(lookTimeoutMs),
  }).catch(() => undefined)
  const page = response?.ok === true ? await response.text() : running
  if (page.includes(running)) return false
  sessionStorage.setItem(reloadedFrom, running)
  return true
}
