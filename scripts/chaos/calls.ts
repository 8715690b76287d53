import { readChunks } from '../../test/support/event-stream.ts'

/** The answer to a call; status 0 when the connection broke. */
export type Answer = {
  status: number
  requestId: string
  costNanoUsd: number | null | undefined
  /** The `retry-after` header, in seconds; null when absent. */
  retryAfter: string | null
}

type Call = { url: string; key: string; question: string; isStreamed: boolean }

const timeoutMs = 30_000

/** Sends one request, without retries. Throws when no answer arrives within 30 s. */
export async function ask({ url, key, question, isStreamed }: Call): Promise<Answer> {
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'cache-control': 'no-store',
      },
      body: JSON.stringify({
        model: 'gpt-5-mini',
        messages: [{ role: 'user', content: question }],
        max_completion_tokens: 100,
        ...(isStreamed && { stream: true, stream_options: { include_usage: true } }),
      }),
      signal,
    })
    const text = await response.text()
    const requestId = response.headers.get('x-request-id') ?? ''
    const retryAfter = response.headers.get('retry-after')
    const received = { status: response.status, requestId, retryAfter }
    if (response.status !== 200) return { ...nothing, ...received }
    if (isStreamed && !text.endsWith('data: [DONE]\n\n')) return nothing
    return { ...received, costNanoUsd: costIn(text, isStreamed) }
  } catch (error) {
    if (signal.aborted) throw new Error('A call got no answer for 30 s.', { cause: error })
    return nothing
  }
}

const nothing: Answer = {
  status: 0,
  requestId: '',
  costNanoUsd: undefined,
  retryAfter: null,
}

function costIn(text: string, isStreamed: boolean): number | null | undefined {
  const usage = isStreamed
    ? readChunks(text).at(-1)?.usage
    : (JSON.parse(text) as { usage?: { cost?: number | null } }).usage
  const cost = usage?.cost
  return typeof cost === 'number' ? Math.round(cost * 1e9) : cost
}
