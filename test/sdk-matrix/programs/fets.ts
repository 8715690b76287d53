import { createClient, type NormalizeOAS } from 'fets'
import type { openapi } from './client/openapi'

export function calls(baseUrl: string, key: string, picture: string) {
  const client = createClient<NormalizeOAS<typeof openapi>>({
    // The cast is needed, because the types allow only the URL in the contract's `servers`.
    endpoint: baseUrl as '/',
    globalParams: { headers: { authorization: `Bearer ${key}` } },
  })
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  return {
    models: async () => {
      const answer = await client['/v1/models'].get({ query: { limit: 2 } })
      return answer.ok && (await answer.json()).data.map(({ id }) => id)
    },
    image: async () => {
      const json = { prompt: 'A fox', quality: 'auto' } as const
      const answer = await client['/v1/images/generations'].post({ json })
      const images = answer.ok && (await answer.json())
      return typeof images === 'object' && 'data' in images && images.data[0]!.b64_json
    },
    chat: async () => {
      const json = { model: 'gpt-5-mini', messages }
      const answer = await client['/v1/chat/completions'].post({ json })
      const completion = answer.ok && (await answer.json())
      // The answer would be a string if it were an event stream.
      return typeof completion === 'object' && completion.choices[0]!.message.content
    },
    refusal: async () => {
      const json = { prompt: 'A fox', quality: 'superb' } as const
      // @ts-expect-error -- not a valid quality
      const answer = await client['/v1/images/generations'].post({ json })
      return answer.status === 400 && (await answer.json()).error.code
    },
    edit: async () => {
      const json = { prompt: 'A fox', images: [{ image_url: picture }] }
      const answer = await client['/v1/images/edits'].post({ json })
      const images = answer.ok && (await answer.json())
      return typeof images === 'object' && 'data' in images && images.data[0]!.b64_json
    },
    stream: async () => {
      const json = { model: 'gpt-5-mini', messages, stream: true }
      return (await client['/v1/chat/completions'].post({ json })).text()
    },
  }
}
