import { GatewayError } from '../../core/error.ts'
import { afterSpending, ProviderFailure } from '../../core/failure.ts'
import type { Usage } from '../../core/money/price.ts'

const timeoutCodes = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])
const cutCodes = new Set(['UND_ERR_SOCKET', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'ECONNRESET'])

/**
 * Converts an error of undici to a ProviderFailure with the original as its cause. If the request
 * was sent (`wasSent`), the upstream may have processed it.
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
    return new ProviderFailure('timeout', 'The provider sent no data in time.', { cause: error })
  }
  if (cutCodes.has(code) || code.startsWith('HPE_')) {
    return new ProviderFailure('unreachable', 'The provider broke the connection.', {
      cause: error,
    })
  }
  return new ProviderFailure('unreachable', 'The provider cannot be reached.', { cause: error })
}

/**
 * Converts an error of a reader. Readers do not validate, so a wrong shape ends in a TypeError. Rethrows a GatewayError,
 * which a cassette throws.
 */
export function readFailure(error: unknown): ProviderFailure {
  if (error instanceof GatewayError) throw error
  const message = "The provider's answer has an unexpected form."
  return error instanceof ProviderFailure
    ? error
    : new ProviderFailure('malformed', message, { cause: error })
}

/** The failure of a reader, with the usage that the failed answer reported. */
export function countedFailure(error: unknown, usage: Usage | undefined): unknown {
  const failure = readFailure(error)
  if (usage === undefined) return failure
  const { inputTokens, outputTokens, images, reportedNanoUsd = 0 } = usage
  // Zeros may mean that the vendor did not count. The kind of failure then decides what is charged.
  const isNothing = inputTokens + outputTokens + images + reportedNanoUsd === 0
  return isNothing ? failure : afterSpending(failure, usage)
}

class Enough extends ProviderFailure {}

/** The reason for aborting an answer whose rest is not needed. */
export function enough(): ProviderFailure {
  return new Enough('cancelled', 'The rest of the answer is not needed.')
}

/** Whether an answer was aborted since its rest is not needed. */
export function isEnough(error: unknown): boolean {
  return error instanceof Enough
}

/** The reason for aborting an answer with too many bytes. */
export function tooLarge(): ProviderFailure {
  return new ProviderFailure('malformed', 'The answer is too large.')
}
