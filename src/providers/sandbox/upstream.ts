import type { ChatRequest } from '../../core/chat/chat.ts'
import type { ImageFormat } from '../../core/image/image.ts'
import { readPixels } from '../../core/image/size.ts'
import type { Dispatch, Receiver } from '../transport/dispatch.ts'
import { lastWords, say, type Said } from './chat.ts'
import { UnreadableSource, type RenderRequest } from './render.ts'
import { readScenario, refusalOf, unreadableSource, type Scenario } from './scenario.ts'
import { countTokens } from './tokens.ts'

type Render = (request: RenderRequest) => Promise<Buffer>
type ImageBody = {
  prompt: string
  n?: number
  size?: string
  seed?: number
  output_format: ImageFormat
  output_compression?: number
  background?: string
  sources?: string[]
}

const created = 1_767_225_600 // 2026-01-01: the sandbox answers the same at any time
const defaultPixels = { width: 1024, height: 1024 }

/** An OpenAI-shaped vendor inside the process, with the scenarios that a prompt asks for. */
export function sandboxUpstream(options: { routeIndex: number; render: Render }): Dispatch {
  return (request, receiver) => {
    const line = openLine(receiver)
    const { body: sent = '' } = request
    const text = typeof sent === 'string' ? sent : sent.join('')
    // Written by the gateway's own adapters for one of the two paths.
    const body = JSON.parse(text) as ChatRequest & ImageBody
    const chat = request.path === '/chat/completions'
    const scenario = readScenario(chat ? lastWords(body) : body.prompt)
    answer(line, { ...options, body, chat, scenario }).catch((error: unknown) => {
      if (!(error instanceof UnreadableSource)) return line.cut(error)
      const refused = unreadableSource()
      line.json(refused.status, refused.body)
    })
  }
}

type Asked = {
  body: ChatRequest & ImageBody
  chat: boolean
  scenario: Scenario
  routeIndex: number
  render: Render
}

async function answer(line: Line, asked: Asked): Promise<void> {
  const { body, chat, scenario, routeIndex, render } = asked
  if (scenario.delayMs > 0) await line.wait(scenario.delayMs)
  if (scenario.reset) return line.cut(new Error('The sandbox resets the connection.'))
  const refused = refusalOf(scenario, routeIndex)
  if (refused) return line.json(refused.status, refused.body, refused.headers)
  if (scenario.malformed) return line.html('<html><body>Bad gateway</body></html>')
  if (scenario.empty) return line.html('')
  if (!chat) return line.json(200, await pictures(body, scenario, render), {}, scenario.cut)
  const said = say(body)
  if (body.stream === true) return streamOut(line, said, body, scenario)
  return line.json(200, completion(said, body, scenario), {}, scenario.cut)
}

async function pictures(body: ImageBody, { noUsage }: Scenario, render: Render): Promise<object> {
  const pixels = body.size === undefined ? defaultPixels : readPixels(body.size)
  const { n = 1 } = body
  const data = []
  for (let index = 0; index < n; index++) {
    const bytes = await render({
      prompt: body.prompt,
      seed: (body.seed ?? 0) + index,
      ...pixels,
      format: body.output_format,
      ...(body.output_compression === undefined ? {} : { quality: body.output_compression }),
      transparent: body.background === 'transparent',
      sources: (body.sources ?? []).map((base64) => Buffer.from(base64, 'base64')),
    })
    data.push({ b64_json: bytes.toString('base64') })
  }
  const outputTokens = Math.round((pixels.width * pixels.height * n) / 256)
  const inputTokens = countTokens(body.prompt)
  const usage = {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  }
  return { created, data, ...(noUsage ? {} : { usage }) }
}

function completion(said: Said, { n }: ChatRequest, { noUsage }: Scenario): object {
  const { id, model, tokens, toolCalls, finishReason, usage } = said
  const message = {
    role: 'assistant',
    content: toolCalls.length > 0 ? null : tokens.join(''),
    refusal: null,
    ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
  }
  const choices = Array.from({ length: n ?? 1 }, (_, index) => ({
    index,
    message,
    logprobs: null,
    finish_reason: finishReason,
  }))
  const counted = noUsage ? {} : { usage }
  return { id, object: 'chat.completion', created, model, choices, ...counted }
}

async function streamOut(line: Line, said: Said, body: ChatRequest, scenario: Scenario) {
  const { id, model, tokens, toolCalls, finishReason, usage } = said
  const chunk = (rest: object) =>
    `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model, ...rest })}\n\n`
  const choice = (index: number, delta: object, finish: string | null = null) =>
    chunk({ choices: [{ index, delta, finish_reason: finish }] })
  const calls = toolCalls.map((call, index) => ({ index, ...call }))
  const deltas = calls.length > 0 ? [{ tool_calls: calls }] : tokens.map((content) => ({ content }))
  const most = scenario.cut ? Math.ceil(deltas.length / 2) : deltas.length
  line.head(200, { 'content-type': 'text/event-stream' })
  for (let index = 0; index < (body.n ?? 1); index++) {
    await line.send(choice(index, { role: 'assistant', content: calls.length > 0 ? null : '' }))
    for (const delta of deltas.slice(0, most)) await line.send(choice(index, delta))
    if (scenario.cut) return line.cut(new Error('The sandbox cuts the stream.'))
    await line.send(choice(index, {}, finishReason))
  }
  if (!scenario.noUsage) await line.send(chunk({ choices: [], usage }))
  await line.send('data: [DONE]\n\n')
  line.end()
}

type Line = ReturnType<typeof openLine>

/** The simulated connection of one call, which obeys pause and abort. */
function openLine(receiver: Receiver) {
  let over = false
  let resumed: (() => void) | undefined
  let paused = false
  let stopWaiting: (() => void) | undefined
  const cut = (error: unknown) => {
    if (over) return
    over = true
    resumed?.()
    stopWaiting?.()
    receiver.error(error instanceof Error ? error : new Error(String(error)))
  }
  const head = (status: number, headers: Record<string, string>) => {
    if (!over) receiver.head(status, headers)
  }
  const end = () => {
    if (over) return
    over = true
    receiver.end()
  }
  const whole = (status: number, headers: Record<string, string>, text: string, broken = false) => {
    head(status, headers)
    const bytes = Buffer.from(text)
    if (!over && bytes.length > 0)
      receiver.data(broken ? bytes.subarray(0, bytes.length / 2) : bytes)
    if (broken) cut(new Error('The sandbox cuts the answer.'))
    else end()
  }
  receiver.start({
    abort: cut,
    pause: () => {
      paused = true
    },
    resume: () => {
      paused = false
      resumed?.()
    },
  })
  return {
    cut,
    head,
    end,
    html: (text: string) => whole(200, { 'content-type': 'text/html' }, text),
    json: (status: number, body: object, headers: Record<string, string> = {}, broken = false) =>
      whole(
        status,
        { 'content-type': 'application/json', ...headers },
        JSON.stringify(body),
        broken,
      ),
    /** Sends one event when reading is not paused, then yields to the event loop. */
    send: async (text: string) => {
      if (paused && !over) await new Promise<void>((resolve) => (resumed = resolve))
      if (!over) receiver.data(Buffer.from(text))
      await new Promise((resolve) => setImmediate(resolve))
    },
    wait: (delayMs: number) =>
      new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, delayMs)
        stopWaiting = () => {
          clearTimeout(timer)
          resolve()
        }
      }),
  }
}
