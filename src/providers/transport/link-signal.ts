import type { UpstreamControl } from './dispatch.ts'

/** Aborts a request when the signal aborts. */
export function linkSignal(signal: AbortSignal) {
  let running: UpstreamControl | undefined
  const abort = (reason: Error) => running?.abort(reason)
  // The gateway always aborts with an Error.
  const onAbort = () => abort(signal.reason as Error)
  return {
    start: (control: UpstreamControl) => {
      running = control
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort, { once: true })
    },
    control: () => running!,
    abort,
    clear: () => signal.removeEventListener('abort', onAbort),
  }
}
