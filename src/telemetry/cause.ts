import { ProviderFailure } from '../core/failure.ts'
import { shortened, GatewayError } from '../core/error.ts'

/** The maximum length of texts from clients, such as a path, and from libraries. */
export const textLengthMax = 500
const framesMax = 20

/**
 * The loggable part of an error. Upstream failures are logged by kind, status and code; any other error with
 * its message and its stack, without the installation folder.
 */
export function causeOf(error: unknown): object {
  const cause = error instanceof GatewayError && error.cause !== undefined ? error.cause : error
  if (cause instanceof ProviderFailure) {
    const { kind, status, cause: inner } = cause
    return { kind, status, code: codeOf(inner) }
  }
  if (!(cause instanceof Error)) return { type: typeof cause }
  const stack = cause.stack?.split('\n').filter(isFrame).slice(0, framesMax).map(withoutFolder)
  const message = shortened(cause.message, textLengthMax)
  return { type: cause.name, message, code: codeOf(cause), stack }
}

const root = new URL('../../', import.meta.url).href

/** Whether a line of a stack is a frame. Other lines are of the message, whose length is unlimited. */
function isFrame(line: string): boolean {
  return line.length <= textLengthMax && /^\s+at /.test(line)
}

function withoutFolder(frame: string): string {
  return frame.trim().replace(root, '')
}

export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
