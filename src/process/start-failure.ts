import { gatewayCommand } from '../core/words/remedies.ts'
import { systemReason } from '../core/words/system-reason.ts'
import { RedisRefusal } from '../peers/redis-trouble.ts'
import { StoreError } from '../storage/store-error.ts'

/** The text for a start with arguments, which are those of a command. */
export const takesNoArguments = `This program is the server and takes no arguments. \`${gatewayCommand} --help\` lists the commands.\n`

/** A start error that is printed without a stack trace. */
export class StartError extends Error {
  override name = 'StartError'
}

/** The StartError for a port that cannot be listened on. */
export function listenFailure(cause: unknown, { host, port }: { host: string; port: number }) {
  // Errors of the operating system have a code.
  const { code } = cause as { code?: string }
  if (code === 'EADDRINUSE') {
    return new StartError(`Port ${port} on ${host} is already in use. Set PORT to another port.`, {
      cause,
    })
  }
  if (code === 'ENOTSUP') {
    return new StartError('This system does not let processes share a port. Set WORKERS=1.', {
      cause,
    })
  }
  const text = `It cannot listen on ${host}, port ${port}: ${systemReason(cause)}. Change HOST or PORT.`
  return new StartError(text, { cause })
}

/** The text for a failed start; has a stack trace only for unexpected errors. */
export function startFailure(error: Error): string {
  const isExpected = [StartError, StoreError, RedisRefusal].some((kind) => error instanceof kind)
  const text = isExpected ? error.message : (error.stack ?? error.message)
  return `The gateway cannot start: ${text}\n`
}
