import { useEffect, useRef, useState } from 'preact/hooks'
import { Refusal } from './api.ts'
import { returns } from './connection.ts'
import { renewals, sessionLoaded } from './session.ts'

/** State of a request. `data` keeps the last answer while the next request runs, and when it fails. */
export type Loaded<T> = {
  data: T | undefined
  error: Refusal | undefined
  isLoading: boolean
  /** Repeats the request. */
  again(): void
}

type Options = { everyMs?: number }

/**
 * Requests data when the component is mounted, when `key` changes, when the gateway is reachable again or
 * the person has signed in again, and every `everyMs` while the page is visible and no request is in progress.
 * Late answers are dropped.
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
  const isInProgress = useRef(false)
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    setLoading(true)
    isInProgress.current = true
    latest
      .current(signal)
      .then(
        (data) => signal.aborted || setState({ key, data }),
        async (thrown: unknown) => {
          // A failure without a session, or for an account that the person has left, is not shown.
          await sessionLoaded
          if (signal.aborted) return
          const error = toRefusal(thrown)
          setState((before) => (before.key === key ? { ...before, error } : { key, error }))
        },
      )
      .finally(() => {
        if (signal.aborted) return
        isInProgress.current = false
        setLoading(false)
      })
    return () => controller.abort()
  }, [key, asked, returns.value, renewals.value])
  useEffect(() => {
    if (everyMs === undefined) return undefined
    const timer = setInterval(() => {
      // A request that takes longer than `everyMs` would otherwise be cancelled before each answer.
      if (document.visibilityState !== 'visible' || isInProgress.current) return
      setAsked((count) => count + 1)
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  const isOfKey = state.key === key
  return {
    data: isOfKey ? state.data : undefined,
    // Loaded data stays visible without an error while the gateway is unreachable: the page frame says so.
    error:
      isOfKey && !(state.error?.code === 'unreachable' && state.data) ? state.error : undefined,
    isLoading,
    again: () => setAsked((count) => count + 1),
  }
}

/** Converts any thrown value to a Refusal that a page can show. */
export function toRefusal(thrown: unknown): Refusal {
  if (thrown instanceof Refusal) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return new Refusal(`The dashboard failed: ${message}. Reload the page.`, { status: 0 })
}

/** An action of the page, such as a form that is sent. */
export type Act<A extends unknown[] = []> = {
  run(...given: A): Promise<void>
  /** Whether the action is running; a second run does not start meanwhile. */
  isBusy: boolean
  /** Why the last run failed. */
  error: Refusal | undefined
  /** The error message when `param` of the failed request starts with this name. */
  faultAt(param: string): string | undefined
  /** Clears the error. */
  forget(): void
}

/** Runs `act` at most once at a time, and stores the error of the last run. */
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
