import { refusalOf, type Refusal, type Schemas } from '../../data/api.ts'
import { toRefusal } from '../../data/load.ts'
import { away, call, type Mode } from '../../data/calling.ts'
import { eventsOf } from '../../data/event-stream.ts'
import { costOf } from '../../data/image-jobs.ts'
import type { Request } from './image-request.ts'

/** The answer of a model; the object is updated in place while the answer streams. */
export type Answer = {
  model: string
  state: 'running' | 'done' | 'stopped' | 'failed'
  text: string
  reasoning: string
  toolCalls: { name: string; arguments: string }[]
  /** Pictures of the answer as data URLs. */
  pictures: string[]
  finish: string | undefined
  tokens: { input: number; output: number } | undefined
  costUsd: string | null
  cache: string | null
  requestId: string | undefined
  durationMs: number
  error: Refusal | undefined
  startedAtMs: number
  /** Absent from an answer of the history. */
  stop?: () => void
}

type Started = { model: string; request: Request; mode: Mode; onChange: () => void }

/** Starts a call to a model, and updates the returned answer as it streams. */
export function startAnswer({ model, request, mode, onChange }: Started): Answer {
  const controller = new AbortController()
  const answer: Answer = {
    model,
    state: 'running',
    text: '',
    reasoning: '',
    toolCalls: [],
    pictures: [],
    finish: undefined,
    tokens: undefined,
    costUsd: null,
    cache: null,
    requestId: undefined,
    durationMs: 0,
    error: undefined,
    startedAtMs: Date.now(),
    stop: () => controller.abort(),
  }
  void follow(answer, request, { mode, signal: controller.signal, onChange })
    .then(() => (answer.state = 'done'))
    .catch((thrown: unknown) => {
      answer.state = controller.signal.aborted ? 'stopped' : 'failed'
      if (!controller.signal.aborted) answer.error = toRefusal(thrown)
    })
    .finally(() => {
      answer.durationMs = Date.now() - answer.startedAtMs
      onChange()
    })
  return answer
}

type Following = { mode: Mode; signal: AbortSignal; onChange: () => void }

async function follow(
  answer: Answer,
  { path, body }: Request,
  { mode, signal, onChange }: Following,
): Promise<void> {
  const streamed = { ...body, stream: true, stream_options: { include_usage: true } }
  // Sends no idempotency key: the gateway would finish a stopped answer that has a key, and charge the
  // caller.
  const response = await call(path, streamed, { mode, signal })
  answer.requestId = response.headers.get('x-request-id') ?? undefined
  answer.cache = response.headers.get('x-gateway-cache')
  let isComplete = false
  for await (const { data } of eventsOf(response, signal)) {
    if (data === '[DONE]') isComplete = true
    else take(answer, JSON.parse(data) as Chunk, response)
    onChange()
  }
  // A connection that closes without [DONE] means that the gateway went down.
  if (!isComplete) throw away()
}

type CallDelta = { name?: string; arguments?: string }
type Delta = {
  content?: string | null
  reasoning?: string | null
  reasoning_content?: string | null
  images?: { image_url: { url: string } }[]
  tool_calls?: { index?: number; function?: CallDelta }[]
}
type Chunk = {
  choices?: { delta?: Delta; finish_reason?: string | null }[]
  usage?: Schemas['ChatUsage'] | null
  error?: object
}

function take(answer: Answer, chunk: Chunk, response: Response): void {
  if (chunk.error !== undefined) throw refusalOf(chunk, response)
  const [choice] = chunk.choices ?? []
  const {
    content,
    reasoning,
    reasoning_content: thoughts,
    images,
    tool_calls: calls,
  } = choice?.delta ?? {}
  answer.text += content ?? ''
  answer.reasoning += reasoning ?? thoughts ?? ''
  for (const { image_url: picture } of images ?? []) {
    // Accepts only data URLs, so that the page loads no picture from another origin.
    if (picture.url.startsWith('data:image/')) answer.pictures.push(picture.url)
  }
  for (const { index = 0, function: delta = {} } of calls ?? []) {
    const call = (answer.toolCalls[index] ??= { name: '', arguments: '' })
    call.name += delta.name ?? ''
    call.arguments += delta.arguments ?? ''
  }
  answer.finish = choice?.finish_reason ?? answer.finish
  const { usage } = chunk
  if (!usage) return
  answer.tokens = { input: usage.prompt_tokens, output: usage.completion_tokens }
  answer.costUsd = costOf(usage)
}
