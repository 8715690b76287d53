import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { answerComplaints, received } from '../support/answers.ts'
import {
  ownOperations,
  resolve,
  type OperationRow,
  type Parameter,
  type ResponseObject,
} from '../support/contract.ts'
import type { TestGateway } from '../support/gateway.ts'
import { pixel, pixelFile } from '../support/pixel.ts'
import { sample } from '../support/probes.ts'
import { startProgram } from '../support/program.ts'
import { projectFolder } from '../support/folder.ts'
import { contract } from './clients.ts'

type Call = { name: string; method?: string; path: string; headers?: object; body?: object }
/** `status` is the expected status; `isWrong` marks a request that violates the contract on purpose. */
type ProxiedCall = Call & { status: number; isWrong?: true; key?: null }

const prompt = 'A lighthouse in a storm'
const messages = [{ role: 'user', content: prompt }]
const images = '/v1/images/generations'
const edits = '/v1/images/edits'
const chat = '/v1/chat/completions'
const rpc = (id: number | undefined, method: string, params?: object) => ({
  ...(id === undefined ? {} : { id }),
  jsonrpc: '2.0',
  method,
  ...(params === undefined ? {} : { params }),
})
const accept = 'application/json, text/event-stream'
const listTool = { name: 'list-image-models', arguments: {} }
const retired = { model: 'gpt-image-1', prompt }

function proxiedCalls(): ProxiedCall[] {
  const form = new FormData()
  form.append('image', pixelFile)
  for (const [name, value] of Object.entries({ prompt, n: '2' })) form.append(name, value)
  const clientInfo = { name: 'matrix', version: '1' }
  const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
  const streamed = { ...listTool, _meta: { progressToken: 1 } }
  return [
    { name: 'a picture', path: images, body: { prompt }, status: 200 },
    {
      name: 'an edit',
      path: edits,
      body: { prompt, images: [{ image_url: pixel }] },
      status: 200,
    },
    // Prism forwards bodies as text, which corrupts the picture, so the gateway refuses it.
    { name: 'an edit as a form', path: edits, body: form, status: 400 },
    { name: 'a chat', path: chat, body: { model: 'gpt-5.4-mini', messages }, status: 200 },
    {
      name: 'a streamed chat',
      path: chat,
      body: { model: 'gpt-5.4-mini', messages, stream: true },
      status: 200,
    },
    {
      name: 'a chat with headers',
      path: chat,
      headers: { 'x-gateway-cache-ttl': '0', 'x-gateway-strict': 'true' },
      body: { model: 'gemini-3-pro-image-preview', messages },
      status: 200,
    },
    { name: 'models', path: '/v1/models?limit=5', status: 200 },
    { name: 'a model', path: '/v1/models/alibaba%2Fqwen-image-plus', status: 200 },
    { name: 'no such model', path: '/v1/models/no-such-model', status: 404 },
    { name: 'a retired model', path: images, body: retired, status: 410 },
    {
      name: 'too many pictures',
      path: images,
      body: { prompt, n: 11 },
      status: 400,
      isWrong: true,
    },
    { name: 'no key', path: '/v1/models', key: null, status: 401, isWrong: true },
    { name: 'initialize', path: '/mcp', body: rpc(1, 'initialize', initialize), status: 200 },
    {
      name: 'initialized',
      path: '/mcp',
      body: rpc(undefined, 'notifications/initialized'),
      status: 202,
    },
    { name: 'tools', path: '/mcp', body: rpc(2, 'tools/list'), status: 200 },
    { name: 'a tool call', path: '/mcp', body: rpc(3, 'tools/call', listTool), status: 200 },
    {
      name: 'a streamed tool call',
      path: '/mcp',
      headers: { accept },
      body: rpc(4, 'tools/call', streamed),
      status: 200,
    },
    { name: 'no such method', path: '/mcp', body: rpc(5, 'no/such'), status: 200 },
    { name: 'no message', path: '/mcp', body: { jsonrpc: '2.0' }, status: 400, isWrong: true },
    { name: 'the tool server', path: '/mcp', status: 200 },
    { name: 'the end of a session', method: 'DELETE', path: '/mcp', status: 204 },
  ]
}

/** Errors that Prism finds in requests and answers, as a proxy in front of the gateway. */
export async function proxyComplaints(gateway: TestGateway, tools: string): Promise<string> {
  const prism = await startPrism(tools, ['proxy', fileURLToPath(contract), gateway.url])
  const found: string[] = []
  try {
    for (const call of proxiedCalls()) {
      const { name, status, isWrong, key } = call
      const response = await ask(prism.url, call, key === null ? {} : keyHeader(gateway))
      const violations = JSON.parse(response.headers.get('sl-violations') ?? '[]') as Violation[]
      const wrong = violations.filter(({ location: [where] }) => !isWrong || where === 'response')
      if (isWrong && violations.length === 0) found.push(`${name}: Prism lets the request pass.`)
      found.push(...wrong.map((one) => `${name}: ${JSON.stringify(one)}`))
      const text = await response.text()
      if (response.status !== status)
        found.push(`${name}: ${response.status} ${text.slice(0, 300)}`)
    }
  } finally {
    await prism.stop()
  }
  return found.join('\n')
}

/** Errors that Prism finds, as a proxy, in what the official clients send and what they are answered. */
export async function clientComplaints(gateway: TestGateway, tools: string): Promise<string> {
  const prism = await startPrism(tools, ['proxy', fileURLToPath(contract), gateway.url])
  const found: string[] = []
  const watched = async (url: string | URL | Request, init?: RequestInit) => {
    const answer = await fetch(url, init)
    const violations = answer.headers.get('sl-violations')
    if (violations !== null) found.push(`${new URL(answer.url).pathname}: ${violations}`)
    return answer
  }
  const options = { apiKey: gateway.testKey, fetch: watched, maxRetries: 0 }
  const openai = new OpenAI({ ...options, baseURL: `${prism.url}/v1` })
  const anthropic = new Anthropic({ ...options, baseURL: prism.url })
  try {
    for (const [index, call] of clientCalls(openai, anthropic).entries()) {
      const status = await call().then(
        () => 200,
        (error: { status?: number }) => error.status,
      )
      const expected = clientErrors[index] ?? 200
      if (status !== expected) found.push(`call ${index}: ${String(status)}, not ${expected}`)
    }
  } finally {
    await prism.stop()
  }
  return found.join('\n')
}

/** Statuses of the first calls of `clientCalls`, which are refused; the others succeed. */
const clientErrors = [400, 404, 410, 429, 502, 404, 404]

function clientCalls(openai: OpenAI, anthropic: Anthropic): (() => Promise<unknown>)[] {
  const [model, claude, vectors] = ['gpt-5.4-mini', 'claude-sonnet-5', 'text-embedding-3-small']
  const asked = [{ role: 'user' as const, content: prompt }]
  const saying = (content: string) => [{ role: 'user' as const, content }]
  const message = { model: claude, max_tokens: 100, messages: asked }
  const {
    chat: { completions },
  } = openai
  const headers = { prefer: 'respond-async', 'cache-control': 'no-store' }
  const read = async (stream: PromiseLike<AsyncIterable<unknown>>) => {
    let events = 0
    for await (const _ of await stream) events++
    if (events < 3) throw new Error('The stream is too short.')
  }
  return [
    () => completions.create({ model, messages: saying('sandbox:content-policy') }),
    () => completions.create({ model: 'no-such-model', messages: asked }),
    () => openai.images.generate(retired),
    () => completions.create({ model, messages: saying('sandbox:status=429') }),
    () => openai.embeddings.create({ model: vectors, input: 'sandbox:status=500' }),
    () => openai.responses.retrieve('resp_none'),
    () => anthropic.messages.create({ ...message, model: 'no-such-model' }),
    () => completions.create({ model, messages: asked }),
    () => read(completions.create({ model, messages: asked, stream: true })),
    () => openai.responses.create({ model, input: prompt }),
    () => read(openai.responses.create({ model, input: prompt, stream: true })),
    () => openai.images.generate({ prompt }),
    () => openai.post('/images/edits', { body: { prompt, images: [{ image_url: pixel }] } }),
    () => openai.post('/images/generations', { body: { prompt }, headers }),
    () => openai.embeddings.create({ model: vectors, input: prompt }),
    () => openai.moderations.create({ input: prompt }),
    () => openai.models.list(),
    () => anthropic.messages.create(message),
    () => read(anthropic.messages.create({ ...message, stream: true })),
    () => anthropic.messages.countTokens({ model: claude, messages: asked }),
  ]
}

type Violation = { location: string[]; message: string }

/** Violations of the contract in Prism's mock answers, for each status of each operation. */
export async function mockComplaints(gateway: TestGateway, tools: string): Promise<string> {
  const prism = await startPrism(tools, ['mock', fileURLToPath(contract)])
  const found: string[] = []
  try {
    for (const { row, status, type } of ownOperations.flatMap(promisesOf)) {
      const prefer = `code=${status}`
      const headers = {
        ...keyHeader(gateway),
        cookie: 'gateway_session=a',
        prefer,
        ...(type === undefined ? {} : { accept: type }),
      }
      const answer = await received(await ask(prism.url, callOf(row), headers))
      const where = `${row.operationId} ${status} ${type ?? ''}`
      if (answer.status !== status) found.push(`${where}: ${answer.status} ${answer.text}`)
      found.push(...answerComplaints(row.operationId, answer).map((one) => `${where}: ${one}`))
    }
  } finally {
    await prism.stop()
  }
  return found.join('\n')
}

function promisesOf(row: OperationRow) {
  return Object.keys(row.responses).flatMap((status) => {
    const types = Object.keys(resolve<ResponseObject>(row.responses[status]!).content ?? {})
    return (types.length === 0 ? [undefined] : types).map((type) => ({
      row,
      status: Number(status),
      type,
    }))
  })
}

/** A call of an operation with the examples of its parameters and of its body, or with minimal values. */
function callOf({
  operationId: name,
  method,
  path,
  parameters = [],
  requestBody,
}: OperationRow): Call {
  const media = requestBody?.content['application/json']
  const required = parameters.map(resolve<Parameter>).filter((one) => one.required)
  const valueOf = ({ schema, example, name: key }: Parameter) =>
    String(example ?? sample(schema, {}, key))
  const inPath = required.filter((one) => one.in === 'path')
  const query = new URLSearchParams(
    required
      .filter((one) => one.in === 'query')
      .map((one): [string, string] => [one.name, valueOf(one)]),
  )
  const address = inPath.reduce(
    (text, one) => text.replace(`{${one.name}}`, encodeURIComponent(valueOf(one))),
    path,
  )
  const [example] = Object.values(media?.examples ?? {})
  return {
    name,
    method: method.toUpperCase(),
    path: query.size === 0 ? address : `${address}?${query.toString()}`,
    // The cast is safe, because each body of the contract is an object.
    ...(media && { body: (example?.value ?? media.example ?? sample(media.schema, {})) as object }),
  }
}

function ask(url: string, { method, path, body, ...call }: Call, more: object): Promise<Response> {
  const isForm = body instanceof FormData
  const type = body === undefined || isForm ? {} : { 'content-type': 'application/json' }
  return fetch(url + path, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { ...type, ...call.headers, ...more },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  })
}

function keyHeader({ testKey }: TestGateway): object {
  return { authorization: `Bearer ${testKey}` }
}

async function startPrism(tools: string, words: string[]) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  // The address of a server that listens on TCP always has this type.
  const { port } = server.address() as AddressInfo
  server.close()
  const script = join(tools, '.bin/prism')
  const all = [script, ...words, '--port', String(port), '--host', '127.0.0.1']
  const program = startProgram(process.execPath, all, { folder: projectFolder })
  await program.printed(/Prism is listening/)
  const stop = async () => {
    program.kill('SIGTERM')
    await program.ended
  }
  return { url: `http://127.0.0.1:${port}`, stop }
}
