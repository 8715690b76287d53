/**
 * `npm run walk`: counts the files of `src` that one call executes, by V8's precise coverage of a gateway in
 * this process. With names, `npm run walk -- chat edit`, it lists the files.
 */
import { Session } from 'node:inspector/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { projectFolder } from '../test/support/folder.ts'
import { startGateway, type TestGateway } from '../test/support/gateway.ts'
import { pixel } from '../test/support/pixel.ts'
import {
  startUpstream,
  type ReceivedRequest,
  type ScriptedAnswer,
} from '../test/support/upstream.ts'

const chat = { model: 'gpt-5.4-mini', messages: [{ role: 'user', content: 'Say hello.' }] }
const image = { model: 'gpt-image-2', prompt: 'A fox', size: '1024x1024' }
const tool = { name: 'chat', arguments: chat }
const claude = { model: 'claude-haiku-5-5', max_tokens: 100, messages: chat.messages }

/** Path and body of each call, by name. */
const calls: Record<string, [path: string, body: object]> = {
  chat: ['/v1/chat/completions', chat],
  stream: ['/v1/chat/completions', { ...chat, stream: true }],
  image: ['/v1/images/generations', image],
  edit: ['/v1/images/edits', { ...image, images: [{ image_url: pixel }] }],
  tool: ['/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: tool }],
  message: ['/v1/messages', claude],
  response: ['/v1/responses', { model: chat.model, input: 'Say hello.' }],
}
/** Calls before the measured one, so that code that runs only once is not counted. */
const warmUps = 3

const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 }
const message = { role: 'assistant', content: 'Hello.', refusal: null }
const completion = { id: 'chatcmpl-1', created: 1_760_000_000, model: 'gpt-5.4-mini' }

/** An answer of Anthropic. */
const claudeMessage = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: claude.model,
  content: [{ type: 'text', text: 'Hello.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 2 },
}
/** An answer of OpenAI's Responses API. */
const openAiResponse = {
  id: 'resp_1',
  object: 'response',
  created_at: completion.created,
  status: 'completed',
  model: completion.model,
  output: [
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Hello.', annotations: [] }],
    },
  ],
  usage: { input_tokens: 9, output_tokens: 2, total_tokens: 11 },
}

function answer({ path, body }: ReceivedRequest): ScriptedAnswer {
  if (path === '/v1/messages') return { body: claudeMessage }
  if (path === '/responses') return { body: openAiResponse }
  if (path.startsWith('/images')) {
    const tokens = { input_tokens: 9, output_tokens: 272, total_tokens: 281 }
    return { body: { created: 1, data: [{ b64_json: pixel.split(',')[1] }], usage: tokens } }
  }
  const isStream = Reflect.get(Object(body), 'stream') === true
  if (!isStream) {
    const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }]
    return { body: { ...completion, object: 'chat.completion', choices, usage } }
  }
  const event = (choices: object[], more = {}) =>
    `data: ${JSON.stringify({ ...completion, object: 'chat.completion.chunk', choices, ...more })}\n\n`
  const delta = { role: 'assistant', content: 'Hello.' }
  return {
    headers: { 'content-type': 'text/event-stream' },
    pieces: [
      event([{ index: 0, delta, finish_reason: null }]),
      event([{ index: 0, delta: {}, finish_reason: 'stop' }]),
      `${event([], { usage })}data: [DONE]\n\n`,
    ],
  }
}

/** The files below `src` with functions that ran since the last call, and the number of functions. */
async function coveredFiles(session: Session): Promise<{ files: string[]; functions: number }> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const source = join(projectFolder, 'src/')
  const own = result.filter(
    ({ url }) => url.startsWith('file:') && fileURLToPath(url).startsWith(source),
  )
  const ran = own.map(({ url, functions }) => ({
    file: relative(source, fileURLToPath(url)),
    count: functions.filter(({ ranges }) => ranges[0]!.count > 0).length,
  }))
  const files = ran.filter(({ count }) => count > 0)
  return {
    files: files.map(({ file }) => file).toSorted(),
    functions: files.reduce((sum, { count }) => sum + count, 0),
  }
}

async function ask(
  gateway: TestGateway,
  key: string,
  [path, body]: [string, object],
): Promise<void> {
  const headers = { 'cache-control': 'no-cache, no-store' }
  const response = await gateway.post(path, body, { key, headers })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`)
  // Waits for work after the answer, such as the ledger's row.
  await new Promise((resolve) => setTimeout(resolve, 200))
}

const names = process.argv.slice(2)
const unknown = names.find((name) => !(name in calls))
if (unknown !== undefined) {
  process.stderr.write(
    `Unexpected argument '${unknown}'. Calls: ${Object.keys(calls).join(', ')}.\n`,
  )
  process.exit(2)
}
const upstream = await startUpstream()
upstream.answer(answer)
const gateway = await startGateway({
  variables: {
    OPENAI_API_KEY: 'sk-walk',
    OPENAI_BASE_URL: upstream.url,
    ANTHROPIC_API_KEY: 'sk-ant-walk',
    ANTHROPIC_BASE_URL: upstream.url,
  },
})
try {
  const key = await gateway.createKey('live')
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  for (const name of names.length > 0 ? names : Object.keys(calls)) {
    for (let time = 0; time < warmUps; time += 1) await ask(gateway, key, calls[name]!)
    await coveredFiles(session)
    await ask(gateway, key, calls[name]!)
    const { files, functions } = await coveredFiles(session)
    process.stdout.write(`${name}: ${files.length} files, ${functions} functions\n`)
    if (names.length > 0) process.stdout.write(files.map((file) => `  ${file}\n`).join(''))
  }
} finally {
  await gateway.stop()
  await upstream.stop()
}
