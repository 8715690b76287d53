import { readChunks } from '../../test/support/event-stream.ts'

/** What a caller saw; 0 where the connection broke. */
export type Answer = { status: number; requestId: string; costNanoUsd: number | null | undefined }

type Call = { url: string; key: string; question: string; isStreamed: boolean }

const timeoutMs = 30_000

/** Asks one question, once. Throws where nothing comes for too long. */
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
    if (response.status !== 200) return { ...nothing, status: response.status, requestId }
    if (isStreamed && !text.endsWith('data: [DONE]\n\n')) return nothing
    return { status: 200, requestId, costNanoUsd: costIn(text, isStreamed) }
  } catch (error) {
    if (signal.aborted) throw new Error('A call got no answer for 30 s.', { cause: error })
    return nothing
  }
}

const nothing: Answer = { status: 0, requestId: '', costNanoUsd: undefined }

function costIn(text: string, isStreamed: boolean): number | null | undefined {
  const usage = isStreamed
    ? readChunks(text).at(-1)?.usage
    : (JSON.parse(text) as { usage?: { cost?: number | null } }).usage
  const cost = usage?.cost
  return typeof cost === 'number' ? Math.round(cost * 1e9) : cost
}
