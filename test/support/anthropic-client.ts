import Anthropic from '@anthropic-ai/sdk'
import { orderComplaints, readMessageEvents } from './message-events.ts'
import type { TestGateway } from './gateway.ts'

/**
 * Anthropic's own client for the gateway, without cache and retries. Reading a stream whose events
 * are not in order fails at its end.
 *
 * @example
 * const messages = [{ role: 'user' as const, content: 'Hello.' }]
 * const request = { model: 'claude-sonnet-5', max_tokens: 100, messages }
 * const message = await anthropicClient(gateway, gateway.testKey).messages.create(request)
 */
export function anthropicClient({ url, liveKey }: TestGateway, apiKey = liveKey): Anthropic {
  return new Anthropic({
    baseURL: url,
    apiKey,
    defaultHeaders: { 'cache-control': 'no-store' },
    maxRetries: 0,
    fetch: watchedFetch,
  })
}

async function watchedFetch(
  address: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  const response = await fetch(address, init)
  const { status, statusText, headers } = response
  const isStream = headers.get('content-type')?.startsWith('text/event-stream')
  if (response.body === null || isStream !== true) return response
  const decoder = new TextDecoder()
  let text = ''
  const watched = new TransformStream<Uint8Array, Uint8Array>({
    transform: (piece, controller) => {
      text += decoder.decode(piece, { stream: true })
      controller.enqueue(piece)
    },
    flush: () => {
      if (text.includes('event: error')) return
      const complaints = orderComplaints(readMessageEvents(text))
      if (complaints.length > 0) throw new Error(`${complaints.join('; ')} in ${text}`)
    },
  })
  return new Response(response.body.pipeThrough(watched), { status, statusText, headers })
}
