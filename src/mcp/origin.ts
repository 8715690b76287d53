/** Whether a page of this origin may use the tool server. */
export type AllowsOrigin = (origin: string) => boolean

type Options = { baseUrl: string | undefined; allowedOrigins: readonly string[] }

const loopback = /^https?:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/

/**
 * Allows pages of the gateway itself, of this machine, and those that the operator lists. A name
 * that only resolves to this machine is refused (MCP specification, DNS rebinding warning).
 */
export function createOriginRule({ baseUrl, allowedOrigins }: Options): AllowsOrigin {
  const addresses = [...(baseUrl === undefined ? [] : [baseUrl]), ...allowedOrigins]
  // Normalised as browsers do it: in lower case, without a default port.
  const listed = new Set(addresses.map((address) => URL.parse(address)?.origin ?? address))
  return (origin) => listed.has(origin) || loopback.test(origin)
}
