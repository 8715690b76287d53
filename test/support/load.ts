import type { Chance } from './chance.ts'
import { readChunks } from './event-stream.ts'

/** An answer whose last byte has arrived. */
export type Acknowledged = {
  requestId: string
  kind: string
  status: number
  /** Cost in the answer; undefined when the answer contains none. */
  costUsd: number | null | undefined
}
export type Load = {
  acknowledged: Acknowledged[]
  /** Number of answers that did not arrive, or broke off. */
  cut: number
  /** Resolves when every caller's connection has broken. */
  over: Promise<void>
}

type Options = {
  url: string
  key: string
  callers: number
  chance: Chance
  /** Called after each complete answer, with the number of complete answers so far. */
  onAnswer: (count: number) => void
}
type Call = { kind: string; path: string; body: object }

/** Starts callers that send one request after another until the server stops. */
export function startLoad({ url, key, callers, chance, onAnswer }: Options): Load {
  const load: Load = { acknowledged: [], cut: 0, over: Promise.resolve() }
  const call = async (): Promise<void> => {
    for (;;) {
      const { kind, path, body } = nextCall(chance)
      try {
        const response = await fetch(url + path, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
        const text = await response.text()
        const requestId = response.headers.get('x-request-id')!
        const costUsd = costIn(response, text)
        load.acknowledged.push({ requestId, kind, status: response.status, costUsd })
      } catch {
        load.cut++
        return
      }
      onAnswer(load.acknowledged.length)
    }
  }
  load.over = Promise.all(Array.from({ length: callers }, call)).then(() => undefined)
  return load
}

const chat = '/v1/chat/completions'

function nextCall(chance: Chance): Call {
  const dice = chance.below(100)
  // Some prompts repeat, so that some answers come from the cache and from shared calls.
  const content = `tell me about ${chance.below(300)}`
  const conversation = (text: string) => ({
    model: 'gpt-5.2',
    messages: [{ role: 'user', content: text }],
  })
  if (dice < 50) return { kind: 'chat', path: chat, body: conversation(content) }
  if (dice < 80) {
    const body = {
      ...conversation(content),
      stream: true,
      stream_options: { include_usage: true },
    }
    return { kind: 'stream', path: chat, body }
  }
  if (dice < 92) {
    const body = { model: 'alibaba/qwen-image-2.0', prompt: content, size: '512x512' }
    return { kind: 'image', path: '/v1/images/generations', body }
  }
  // Failing prompts are unique, since a caller that shares a failing call is refused without a call.
  const once = chance.below(2 ** 31)
  return { kind: 'failing', path: chat, body: conversation(`sandbox:status=500 ${once}`) }
}

/** Returns the cost in an answer. Throws when a complete answer is malformed. */
function costIn(response: Response, text: string): number | null | undefined {
  if (response.status !== 200) return undefined
  if (!response.headers.get('content-type')!.startsWith('text/event-stream')) {
    return (JSON.parse(text) as { usage: { cost: number | null } }).usage.cost
  }
  if (!text.endsWith('data: [DONE]\n\n')) throw new Error('The stream broke off.')
  return readChunks(text).at(-1)!.usage!.cost
}
