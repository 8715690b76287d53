import type { Chance } from './chance.ts'
import { readChunks } from './event-stream.ts'

/** An answer of which the last byte has arrived. */
export type Acknowledged = {
  requestId: string
  kind: string
  status: number
  /** What its receipt says; undefined where the answer has none. */
  costUsd: number | null | undefined
}
export type Load = {
  acknowledged: Acknowledged[]
  /** Answers that never came, or broke off. */
  cut: number
  /** Kept when every caller has met a broken connection. */
  over: Promise<void>
}

type Options = {
  url: string
  key: string
  callers: number
  chance: Chance
  /** Told of each answer that ended, with how many there are. */
  onAnswer: (count: number) => void
}
type Call = { kind: string; path: string; body: object }

/** Callers that ask one thing after the other, until the server is gone. */
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
  // Some prompts come twice, so that the cache and calls in flight answer as well.
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
  // Asked once each: who joins a call that fails is refused without a call of its own.
  const once = chance.below(2 ** 31)
  return { kind: 'failing', path: chat, body: conversation(`sandbox:status=500 ${once}`) }
}

/** Throws when an answer that looks whole is not. */
function costIn(response: Response, text: string): number | null | undefined {
  if (response.status !== 200) return undefined
  if (!response.headers.get('content-type')!.startsWith('text/event-stream')) {
    return (JSON.parse(text) as { usage: { cost: number | null } }).usage.cost
  }
  if (!text.endsWith('data: [DONE]\n\n')) throw new Error('The stream broke off.')
  return readChunks(text).at(-1)!.usage!.cost
}
