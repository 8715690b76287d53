import type { TestGateway } from './gateway.ts'
import { postMessages, request } from './mcp-client.ts'
import { openMessageStream } from './message-stream.ts'

export const sessionHeader = 'mcp-session-id'

export const initialize = request('initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'x', version: '1' },
})

/** Client requests in a session; an undefined id sends no session. The default key is the live key. */
export function sessionCalls(gateway: TestGateway) {
  const headersOf = (id: string | undefined): Record<string, string> =>
    id === undefined ? {} : { [sessionHeader]: id }
  const post = (message: unknown, id: string | undefined, key = gateway.liveKey) =>
    postMessages(gateway, message, { key, headers: headersOf(id) })
  return {
    post,
    begin: async (key = gateway.liveKey, headers: Record<string, string> = {}) => {
      const { response } = await postMessages(gateway, initialize, { key, headers })
      return response.headers.get(sessionHeader)!
    },
    cancel: (requestId: unknown, id?: string, key?: string) =>
      post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }, id, key),
    end: (id: string | undefined, key = gateway.liveKey) =>
      gateway.fetch('/mcp', { method: 'DELETE', key, headers: headersOf(id) }),
    listen: (id: string | undefined, key = gateway.liveKey) => {
      const headers = { accept: 'text/event-stream', ...headersOf(id) }
      return openMessageStream((signal) => gateway.fetch('/mcp', { headers, signal, key }))
    },
  }
}
