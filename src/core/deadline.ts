import { ProviderFailure } from './failure.ts'

/** One time limit for a whole call, which also ends when the caller leaves. */
export type Deadline = {
  signal: AbortSignal
  endsAt: number
  /** Ends what is still under way for the call. */
  abort: (reason: ProviderFailure) => void
  clear: () => void
}

/** Aborts with a ProviderFailure: `timeout` after `timeoutMs`, `cancelled` when `left` aborts. */
export function startDeadline(left: AbortSignal, timeoutMs: number, startedAt: number): Deadline {
  const controller = new AbortController()
  const timer = setTimeout(() => {
    controller.abort(new ProviderFailure('timeout', `No answer within ${timeoutMs} ms.`))
  }, timeoutMs)
  const leave = () => {
    clearTimeout(timer)
    controller.abort(new ProviderFailure('cancelled', 'The caller left.'))
  }
  if (left.aborted) leave()
  left.addEventListener('abort', leave, { once: true })
  return {
    signal: controller.signal,
    endsAt: startedAt + timeoutMs,
    abort: (reason) => controller.abort(reason),
    clear: () => {
      clearTimeout(timer)
      left.removeEventListener('abort', leave)
    },
  }
}
