import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import {
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import type { CallOptions, TestGateway } from './gateway.ts'

/**
 * The SDK's client, connected with the given key or the test key.
 *
 * @example
 * const client = await connectClient(gateway)
 * const result = await callTool(client, 'generate-image', { prompt: 'A fox' })
 * expect(picturesOf(result)[0]?.mimeType).to.equal('image/png')
 */
export async function connectClient(
  gateway: Pick<TestGateway, 'url' | 'testKey'>,
  key = gateway.testKey,
): Promise<Client> {
  return (await connectSession(gateway, key)).client
}

/** A client of the SDK, and the transport with its session. */
export type ClientSession = { client: Client; transport: StreamableHTTPClientTransport }

/** Like `connectClient`, but returns the transport as well; `more` are options of the transport. */
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

/** The text in a tool's result. */
export function textOf({ content }: ToolResult): string {
  return content.flatMap((block) => (block.type === 'text' ? block.text : [])).join('\n')
}

/** The pictures in a tool's result. */
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
  // The cast excludes results of the oldest MCP revisions, which the SDK's type allows.
  return (await client.callTool({ name, arguments: args }, undefined, options)) as ToolResult
}

export type RpcAnswer = {
  jsonrpc: string
  id: unknown
  result?: Record<string, unknown> & ToolResult
  error?: { code: number; message: string; data?: unknown }
}

/** Posts messages unchanged, and parses the answer as JSON. */
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

/** A JSON-RPC request. */
export function request(method: string, params?: object, id: unknown = 1): object {
  return { jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) }
}

/** A `tools/call` request. */
export function toolCall(name: string, args?: object, id: unknown = 1): object {
  return request('tools/call', { name, arguments: args }, id)
}
