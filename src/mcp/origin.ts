import type { Operation } from '../http/operation.ts'
import { shortened } from '../core/error.ts'
import { errorMessage, rpcCodes } from './json-rpc.ts'

/** Whether a page of this origin may use the tool server. */
export type AllowsOrigin = (origin: string) => boolean

type Options = { baseUrl: string | undefined; allowedOrigins: readonly string[] }

const loopback = /^https?:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/

/**
 * Allows pages of the gateway, of loopback addresses, and of the listed origins. Another name that resolves to
 * this machine is refused (MCP specification, DNS rebinding warning).
 */
export function createOriginRule({ baseUrl, allowedOrigins }: Options): AllowsOrigin {
  const addresses = [...(baseUrl === undefined ? [] : [baseUrl]), ...allowedOrigins]
  const listed = new Set(addresses.map(originOf))
  return (origin) => listed.has(origin) || loopback.test(origin)
}

/**
 * An origin as browsers send it: in lower case and without a default port. URL reports `null` for the origin of
 * other schemes such as `tauri:`, which any sandboxed page sends too.
 */
function originOf(address: string): string {
  const origin = URL.parse(address)?.origin
  return origin === undefined || origin === 'null' ? address.toLowerCase() : origin
}

/** Answers pages of other origins with 403 (MCP specification, transports, security warning). */
export function guarded<Id extends 'postMcp' | 'getMcp' | 'deleteMcp'>(
  handle: Operation<Id>,
  allowsOrigin: AllowsOrigin,
): Operation<Id> {
  return async (call) => {
    const { origin } = call.request.headers
    if (origin === undefined || allowsOrigin(origin)) return handle(call)
    const remedy =
      origin === 'null'
        ? 'This origin belongs to any sandboxed page, so it cannot be allowed.'
        : 'The operator can add the origin to the setting allowed_origins.'
    const text = `Pages of ${shortened(origin, 200)} may not use the tool server. ${remedy}`
    return { status: 403, json: errorMessage(null, rpcCodes.refused, text) }
  }
}
