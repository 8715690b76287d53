import OpenAI from 'openai'
import { checkedFetch } from './checked-fetch.ts'
import type { TestGateway } from './gateway.ts'

/**
 * OpenAI's own client for the gateway, without cache and retries.
 *
 * @example
 * const { data } = await openAiClient(gateway).images.generate({ prompt: 'A fox' })
 */
export function openAiClient({ url, testKey }: TestGateway, apiKey = testKey): OpenAI {
  const defaultHeaders = { 'cache-control': 'no-store' }
  return new OpenAI({
    baseURL: `${url}/v1`,
    apiKey,
    defaultHeaders,
    maxRetries: 0,
    fetch: checkedFetch,
  })
}
