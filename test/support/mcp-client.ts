import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import {
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import type { CallOptions, TestGateway } from './gateway.ts'

/** The SDK's own client, connected with the test key or the key that is given. */
export async function connectClient(
  gateway: Pick<TestGateway, 'url' | 'testKey'>,
  key = gateway.testKey,
): Promise<Client> {
  return (await connectSession(gateway, key)).client
}

/** A client of the SDK, and the transport that knows its session. */
export type ClientSession = { client: Client; transport: StreamableHTTPClientTransport }

/** As `connectClient`; `more` replaces the way to the gateway. */
export async function connectSession(
  { url }: Pick<TestGateway, 'url'>,
  key: string,
  more: Pick<StreamableHTTPClientTransportOptions, 'fetch'> = {},
): Promise<ClientSession> {
  const client = new Client({ name: 'test', version: '1' })
  const headers = { authorization: `Bearer ${key}` }
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers },
    ...more,
  })
  await client.connect(transport)
  return { client, transport }
}

type ToolResult = Pick<CallToolResult, 'content' | 'isError'>

/** The text of a tool's answer. */
export function textOf({ content }: ToolResult): string {
  return content.flatMap((block) => (block.type === 'text' ? block.text : [])).join('\n')
}

/** The pictures of a tool's answer. */
export function picturesOf({ content }: ToolResult): { bytes: Buffer; mimeType: string }[] {
  return content.flatMap((block) =>
    block.type === 'image'
      ? { bytes: Buffer.from(block.data, 'base64'), mimeType: block.mimeType }
      : [],
  )
}

/** Calls a tool with the SDK's client. */
export async function callTool(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
  options?: Parameters<Client['callTool']>[2],
): Promise<ToolResult> {
  // The SDK's type allows a result of the oldest revisions as well.
  return (await client.callTool({ name, arguments: args }, undefined, options)) as ToolResult
}

export type RpcAnswer = {
  jsonrpc: string
  id: unknown
  result?: Record<string, unknown> & ToolResult
  error?: { code: number; message: string; data?: unknown }
}

/** Posts messages as they are, and reads what comes back as JSON. */
export async function postMessages(
  gateway: TestGateway,
  body: unknown,
  init: CallOptions = {},
): Promise<{ response: Response; answer: RpcAnswer; answers: RpcAnswer[] }> {
  const response = await gateway.post('/mcp', body, init)
  const text = await response.text()
  const json = (text === '' ? {} : JSON.parse(text)) as RpcAnswer | RpcAnswer[]
  const answers = [json].flat()
  return { response, answer: answers[0]!, answers }
}

/** A request of the protocol. */
export function request(method: string, params?: object, id: unknown = 1): object {
  return { jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) }
}

/** A call of a tool. */
export function toolCall(name: string, args?: object, id: unknown = 1): object {
  return request('tools/call', { name, arguments: args }, id)
}
