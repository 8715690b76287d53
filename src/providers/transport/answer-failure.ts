import { afterSpending, ProviderFailure } from '../../core/failure.ts'
import type { Usage } from '../../core/money/price.ts'

const timeoutCodes = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])
const cutCodes = new Set(['UND_ERR_SOCKET', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'ECONNRESET'])

/**
 * An error of undici as a ProviderFailure; the original is kept as its cause, for the log. Behind a
 * request that was sent (`wasSent`), nobody knows what the upstream has done.
 */
export function connectionFailure(
  error: unknown,
  signal: AbortSignal,
  wasSent: boolean,
): ProviderFailure {
  const failure = failureOf(error, signal)
  return wasSent ? failure.afterSending() : failure
}

function failureOf(error: unknown, signal: AbortSignal): ProviderFailure {
  if (error instanceof ProviderFailure) return error
  if (signal.aborted && signal.reason instanceof ProviderFailure) return signal.reason
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (timeoutCodes.has(code)) {
    return new ProviderFailure('timeout', 'The provider paused for too long.', { cause: error })
  }
  if (cutCodes.has(code) || code.startsWith('HPE_')) {
    return new ProviderFailure('unreachable', 'The provider broke the connection.', {
      cause: error,
    })
  }
  return new ProviderFailure('unreachable', 'The provider cannot be reached.', { cause: error })
}

/** What a reader threw. Readers do not validate answers: another shape ends in a TypeError. */
export function readFailure(error: unknown): ProviderFailure {
  const message = 'The answer is not what the provider promises.'
  return error instanceof ProviderFailure
    ? error
    : new ProviderFailure('malformed', message, { cause: error })
}

/** What a reader threw of an answer that counts what was used all the same. */
export function countedFailure(error: unknown, usage: Usage | undefined): unknown {
  const failure = readFailure(error)
  if (usage === undefined) return failure
  const { inputTokens, outputTokens, images, reportedNanoUsd = 0 } = usage
  // Zeros may stand for counts that were not taken: then the kind of failure decides.
  const isNothing = inputTokens + outputTokens + images + reportedNanoUsd === 0
  return isNothing ? failure : afterSpending(failure, usage)
}

/** What ends an answer of which no more is needed. */
export function enough(): ProviderFailure {
  return new ProviderFailure('cancelled', 'The beginning was enough.')
}

/** What ends an answer of too many bytes. */
export function tooLarge(): ProviderFailure {
  return new ProviderFailure('malformed', 'The answer is too large.')
}
