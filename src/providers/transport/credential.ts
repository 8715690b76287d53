import { jsonObject } from '../../core/any-json.ts'
import { uncounted } from '../../bytes/memory-budget.ts'
import { ProviderFailure } from '../../core/failure.ts'
import { createDispatch, type Connector } from './dispatch.ts'
import type { TokenRequest } from './account-tokens.ts'
import type { Credential } from './key-ring.ts'
import { receive, wholeReader } from './upstream.ts'

type Headers = Readonly<Record<string, string>>

type Options = {
  request: () => TokenRequest
  /** Opens the connection to the token endpoint; refuses addresses that it may not have. */
  connector: Connector
  monotonic: () => number
  /** Receives each token before its first use, so that texts are cleaned of it. */
  onToken: (token: string) => void
}
/** A token is renewed this long before it ends, while it is still used. */
const renewBeforeMs = 5 * 60_000
/** Not used for a request that may arrive after the token's end. */
const spareMs = 10_000
/** Pause after a renewal that failed while the token is still valid. */
const renewPauseMs = 30_000
/** Limits a call's wait; token endpoints answer within a second. */
const timeoutMs = 5000
const connectTimeoutMs = 3000
const bytesMax = 64 * 1024
/** Longest life that is believed; longer ones are renewed earlier. */
const secondsMax = 3600

/** The credential of a token endpoint; one request fetches the token for all calls that wait. */
export function tokenCredential(options: Options): Credential {
  const { monotonic, onToken } = options
  let token: { headers: Headers; endsAt: number } | undefined
  let fetching: Promise<Headers> | undefined
  let pausedUntil = -Infinity

  const renew = (): Promise<Headers> => {
    fetching ??= fetchToken(options)
      .then(({ text, seconds }) => {
        onToken(text)
        const endsAt = monotonic() + seconds * 1000
        token = { headers: { authorization: `Bearer ${text}` }, endsAt }
        return token.headers
      })
      .finally(() => (fetching = undefined))
    return fetching
  }
  return {
    headers: () => {
      const now = monotonic()
      if (token === undefined || now >= token.endsAt - spareMs) return renew()
      if (now >= token.endsAt - renewBeforeMs && now >= pausedUntil) {
        pausedUntil = now + renewPauseMs
        // The token is still valid; its last calls report the failure if the renewal keeps failing.
        renew().catch(() => undefined)
      }
      return token.headers
    },
    rejected: () => {
      token = undefined
    },
  }
}

/** Fetches a token. Rejects with a ProviderFailure that contains nothing of the endpoint's text. */
async function fetchToken({ request: write, connector }: Options) {
  const { address, body } = write()
  const pool = createDispatch(address, { connectTimeoutMs, connectionsMax: 1, connector })
  const request = {
    method: 'POST' as const,
    path: '',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body,
    limits: { headersTimeoutMs: timeoutMs, idleTimeoutMs: timeoutMs, endTimeoutMs: timeoutMs },
  }
  const signal = AbortSignal.timeout(timeoutMs)
  const exchange = { dispatch: pool.dispatch, request, bytesMax }
  try {
    return await receive(exchange, { signal, memory: uncounted }, ({ status }) =>
      wholeReader((bytes) => readToken(status, bytes)),
    )
  } catch (error) {
    if (error instanceof ProviderFailure && own.has(error)) throw error
    const isTimeout = error instanceof ProviderFailure && error.kind === 'timeout'
    // A new failure: only the token endpoint received a request, so nothing was executed.
    throw signal.aborted || isTimeout
      ? new ProviderFailure('timeout', 'The token endpoint of the provider did not answer in time.')
      : new ProviderFailure('unreachable', 'The token endpoint of the provider cannot be reached.')
  } finally {
    await pool.close()
  }
}

/** Failures that this file made; those of connections are rewritten. */
const own = new WeakSet<ProviderFailure>()

function failed(kind: 'credentials' | 'overloaded', message: string): ProviderFailure {
  const failure = new ProviderFailure(kind, message)
  own.add(failure)
  return failure
}

function readToken(status: number, bytes: Buffer): { text: string; seconds: number } {
  if (status >= 500 || status === 429) {
    throw failed('overloaded', `The token endpoint of the provider answered HTTP ${status}.`)
  }
  const { access_token: text, expires_in: seconds, error } = jsonObject(bytes.toString()) ?? {}
  if (status !== 200) {
    const code = typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? `, ${error}` : ''
    const message = `The provider's token endpoint rejects the credentials (HTTP ${status}${code}).`
    throw failed('credentials', message)
  }
  if (typeof text !== 'string' || !/^[\x21-\x7e]{1,8192}$/.test(text)) {
    throw failed('credentials', "The provider's token endpoint sent no token.")
  }
  const isCount = typeof seconds === 'number' && seconds > 0
  return { text, seconds: isCount ? Math.min(seconds, secondsMax) : secondsMax }
}
