/** `_meta` of a request in the newest MCP revision. */
export const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
}

/** A request in the newest MCP revision; `meta` is added to its `_meta`. */
export function modernRequest(method: string, params: object = {}, meta: object = {}): object {
  const whole = { ...params, _meta: { ...modernMeta, ...meta } }
  return { jsonrpc: '2.0', id: 7, method, params: whole }
}

/** HTTP headers of a request in the newest MCP revision. */
export function modernHeaders(method: string, name?: string): Record<string, string> {
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method }
  return name === undefined ? headers : { ...headers, 'mcp-name': name }
}
