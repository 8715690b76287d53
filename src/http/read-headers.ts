import type { IncomingHttpHeaders } from 'node:http'
import { headerChecks } from '../../generated/parameter-checks.js'
import type { OperationId } from '../../generated/operations.ts'
import { assertValid } from './check-error.ts'

type Described = { id: OperationId; headerNames: readonly string[] }

/** Headers of the tool protocol; others that are sent twice are refused. */
const doubledByClients = /^mcp-/

/** The headers, of which those that the contract defines have passed its checks; throws a GatewayError. */
export function readHeaders(headers: IncomingHttpHeaders, { id, headerNames }: Described): object {
  const check: (options: Record<string, unknown>) => boolean = headerChecks[id]
  const options: Record<string, unknown> = { ...headers }
  if (check(options)) return options
  for (const name of headerNames) {
    const value = headers[name]
    if (typeof value === 'string' && doubledByClients.test(name)) options[name] = saidOnce(value)
  }
  assertValid(headerChecks[id], options)
  return options
}

/**
 * What a header says that was sent several times with one value, as some clients and proxies do:
 * Node joins the values. One whose values differ stays as it is.
 */
export function saidOnce(value: string): string {
  const [first = '', ...rest] = value.split(',').map((part) => part.trim())
  return rest.every((part) => part === first) ? first : value
}
