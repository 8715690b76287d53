import { useEffect, useRef, useState } from 'preact/hooks'
import { Refusal } from './api.ts'
import { returns } from './connection.ts'
import { renewals, sessionKnown } from './session.ts'

/** What was asked for: the last answer stays while the next one is awaited, and when that fails. */
export type Loaded<T> = {
  data: T | undefined
  error: Refusal | undefined
  isLoading: boolean
  /** Asks again. */
  again(): void
}

type Options = { everyMs?: number }

/**
 * Asks when a component is shown, again when `key` changes, when the gateway has come back or somebody
 * has signed in anew, and every `everyMs` while the page is seen. Answers that come too late are dropped.
 */
export function useLoad<T>(
  key: string,
  ask: (signal: AbortSignal) => Promise<T>,
  { everyMs }: Options = {},
): Loaded<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: Refusal }>({ key })
  const [isLoading, setLoading] = useState(true)
  const [asked, setAsked] = useState(0)
  const latest = useRef(ask)
  latest.current = ask
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    setLoading(true)
    latest
      .current(signal)
      .then(
        (data) => signal.aborted || setState({ key, data }),
        async (thrown: unknown) => {
          // What was asked for nobody, or for an account that is left, is not this page's failure.
          await sessionKnown
          if (signal.aborted) return
          const error = toRefusal(thrown)
          setState((before) => (before.key === key ? { ...before, error } : { key, error }))
        },
      )
      .finally(() => signal.aborted || setLoading(false))
    return () => controller.abort()
  }, [key, asked, returns.value, renewals.value])
  useEffect(() => {
    if (everyMs === undefined) return undefined
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') setAsked((count) => count + 1)
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  const isOfKey = state.key === key
  return {
    data: isOfKey ? state.data : undefined,
    // While the gateway is away the frame says so, and what was loaded stays.
    error:
      isOfKey && !(state.error?.code === 'unreachable' && state.data) ? state.error : undefined,
    isLoading,
    again: () => setAsked((count) => count + 1),
  }
}

/** Anything that was thrown, as something to show. */
export function toRefusal(thrown: unknown): Refusal {
  if (thrown instanceof Refusal) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return new Refusal(`The dashboard failed: ${message}. Reload the page.`, { status: 0 })
}

/** Something that can be done. */
export type Act<A extends unknown[] = []> = {
  run(...given: A): Promise<void>
  /** Whether it is being done; it is not done a second time meanwhile. */
  isBusy: boolean
  /** Why it was not done. */
  error: Refusal | undefined
  /** What was wrong with the member of the request with this name, or with one within it. */
  faultAt(param: string): string | undefined
  /** Forgets why. */
  forget(): void
}

/** Does something once at a time. */
export function useAct<A extends unknown[]>(act: (...given: A) => Promise<void>): Act<A> {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<Refusal>()
  const run = async (...given: A): Promise<void> => {
    if (isBusy) return
    setBusy(true)
    setError(undefined)
    try {
      await act(...given)
    } catch (thrown) {
      setError(toRefusal(thrown))
    } finally {
      setBusy(false)
    }
  }
  const faultAt = (param: string) =>
    error?.param?.startsWith(param) === true ? error.message : undefined
  return { run, isBusy, error, faultAt, forget: () => setError(undefined) }
}
