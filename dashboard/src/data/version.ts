import { Refusal } from './api.ts'
import { base } from './place.ts'

/** Beyond this the gateway is taken to be away. */
const lookTimeoutMs = 10_000
/** From which version the page was reloaded, as long as the window is open. */
const reloadedFrom = 'gateway_reloaded_from'

/**
 * Loads a part of the dashboard. Where that fails because the gateway has been updated since the page
 * was opened, the page is reloaded, once; otherwise a Refusal is thrown.
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
      'This page could not be loaded. Look whether the gateway runs, and try again.',
      { status: 0, code: 'unreachable' },
    )
  }
}

/** Whether the gateway has other files than this page runs, and it was not reloaded for that yet. */
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
