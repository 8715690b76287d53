import { GatewayError } from '../error.ts'
import { callerCancelled } from './deadline.ts'

/** The place of a call that goes on after its answer. */
type BackgroundPlace = {
  /** From now on the call ends with its response or job. */
  runs(id: string, ending: AbortController): void
  /** Must be called when the call has ended. */
  leave(): void
}

type Options = {
  /** Those of these responses and jobs that have not ended. */
  running: (ids: readonly string[]) => Promise<ReadonlySet<string>>
  onFault: (error: unknown) => void
  limits: { backgroundCallsPerAccountMax: number; backgroundRecheckMs: number }
}

/** What an account has too many of, and the parameter that asks for them. */
type Refused = { what: 'responses' | 'images'; param: 'background' | 'prefer' }

/** The calls of this process that go on after their answer, by the id of their response or job. */
export type BackgroundCalls = ReturnType<typeof createBackgroundCalls>

/** While a call runs, all calls are looked up together, since another process may end them. */
export function createBackgroundCalls({ running, onFault, limits }: Options) {
  const { backgroundCallsPerAccountMax: most, backgroundRecheckMs: recheckMs } = limits
  const places = new Map<string, number>()
  const calls = new Map<string, AbortController>()
  let timer: NodeJS.Timeout | undefined
  const cancel = (id: string) => calls.get(id)?.abort(callerCancelled())
  const look = async (): Promise<void> => {
    const ids = [...calls.keys()]
    // When the store fails, calls continue until the next check.
    const left = await running(ids).catch(() => undefined)
    for (const id of ids) if (left?.has(id) === false) cancel(id)
    timer = calls.size === 0 ? undefined : again()
  }
  const again = () => setTimeout(() => void look(), recheckMs).unref()
  return {
    /** Takes a place of an account. Throws `rate_limit_exceeded`, unless the call was admitted by another process. */
    take: (accountId: string, refused: Refused | undefined): BackgroundPlace => {
      const taken = places.get(accountId) ?? 0
      if (taken >= most && refused !== undefined) throw tooMany(most, refused)
      places.set(accountId, taken + 1)
      let ownId: string | undefined
      return {
        runs: (id, ending) => {
          ownId = id
          calls.set(id, ending)
          timer ??= again()
        },
        leave: () => {
          if (ownId !== undefined) calls.delete(ownId)
          const others = places.get(accountId)! - 1
          if (others === 0) places.delete(accountId)
          else places.set(accountId, others)
        },
      }
    },
    /** Ends the call of a response or job, if this process runs it. */
    cancel,
    /** Whether any call runs. */
    isBusy: () => calls.size > 0,
    /** Aborts all calls with a ProviderFailure. */
    endAll: (reason: Error) => {
      for (const ending of calls.values()) ending.abort(reason)
    },
    /** Reports an error that is no failure of a call. */
    faulted: onFault,
  }
}

function tooMany(most: number, { what, param }: Refused): GatewayError {
  const text = `${most} responses and image jobs of this account are running. Ask for more ${what} when one has ended.`
  return new GatewayError('rate_limit_exceeded', text, { param, retryAfterSeconds: 5 })
}
