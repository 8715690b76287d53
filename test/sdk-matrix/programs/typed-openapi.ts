import { createApiClient, TypedStatusError, type Schemas } from './client/api'

export function calls(baseUrl: string, key: string, picture: string) {
  const client = createApiClient(
    {
      fetch: ({ method, url, urlSearchParams, parameters }) => {
        if (urlSearchParams) url.search = urlSearchParams.toString()
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
        const { body } = parameters ?? {}
        return fetch(url, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
      },
    },
    baseUrl,
  )
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  return {
    models: async () => {
      const { data } = await client.get('/v1/models', { query: { limit: 2 } })
      return data.map(({ id }) => id)
    },
    image: async () => {
      const body = { prompt: 'A fox', quality: 'auto' } as const
      const answer = await client.post('/v1/images/generations', { header: {}, body })
      return 'data' in answer && answer.data[0]!.b64_json
    },
    chat: async () => {
      const body = { model: 'gpt-5-mini', messages }
      const { choices } = await client.post('/v1/chat/completions', { header: {}, body })
      return choices[0]!.message.content
    },
    refusal: async () => {
      const call = client.post('/v1/images/generations', {
        header: {},
        // @ts-expect-error -- not a valid quality
        body: { prompt: 'A fox', quality: 'superb' },
      })
      const refused: unknown = await call.catch((error: unknown) => error)
      if (!(refused instanceof TypedStatusError)) return undefined
      return (refused.response.data as Schemas.ErrorResponse).error.code
    },
    edit: async () => {
      const body = { prompt: 'A fox', images: [{ image_url: picture }] }
      const answer = await client.post('/v1/images/edits', { header: {}, body })
      return 'data' in answer && answer.data[0]!.b64_json
    },
    stream: () =>
      client.post('/v1/chat/completions', {
        header: {},
        body: { model: 'gpt-5-mini', messages, stream: true },
      }),
  }
}
